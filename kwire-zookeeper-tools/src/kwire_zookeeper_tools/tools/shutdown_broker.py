"""The tool `shutdown-broker`."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

from kwire._util.readable import counted
from kwire.client.admin import AdminClient, TopicPartition
from kwire.client.admin.answer import error_code
from kwire.messages.kafka.controlled_shutdown import ControlledShutdownRequest
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_cluster.zookeeper.brokers import BrokerRegistration
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    Danger.DESTROYS,
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    replaces=("kafka.admin.ShutdownBroker",),
    examples=("--zookeeper localhost:2181 --broker 2 --num.retries 3",),
    warning="The broker leads nothing and leaves every ISR until its process is restarted; partitions whose "
    "only replica it has are not available.",
)
async def shutdown_broker(
    run: ToolRun,
    broker: Annotated[int, Option("The id of the broker.", "ID")],
    num_retries: Annotated[int, Option("How often to try again.", "N", also=("--num.retries",))] = 0,
    retry_interval_ms: Annotated[
        int, Option("Milliseconds between two attempts.", "MS", also=("--retry.interval.ms",))
    ] = 1000,
) -> None:
    """Move the leaders of a broker to other brokers, so that it can be stopped.

    The broker goes on running, but it leads nothing and stays out of every ISR until its process is restarted: stop it
    afterwards. The cluster must have ZooKeeper, because the controller
    requires the epoch of the broker's registration there.
    """
    store = await run.zookeeper()
    stat = await store.exists(BrokerRegistration.path(broker))
    if stat is None:
        raise ToolFailed(f"broker {broker} is not registered in ZooKeeper")
    admin = await run.admin()
    for attempt in range(num_retries + 1):
        remaining = await _move_leaders(admin, broker, stat.czxid)
        if not remaining:
            run.print("shutdown status: complete")
            return
        count = counted(len(remaining), "partition")
        run.print(f"shutdown status: incomplete, {count} left: {', '.join(map(str, remaining))}")
        if attempt < num_retries:
            await asyncio.sleep(retry_interval_ms / 1000)
    raise ToolFailed(f"broker {broker} leads partitions that no other replica can lead")


async def _move_leaders(admin: AdminClient, broker: int, epoch: int) -> list[TopicPartition]:
    """Return the partitions that the broker still leads, or raise AdminError."""
    if admin.dialect == "kip4":
        controller = (await admin.describe_cluster()).controller
        if controller is None:
            raise ToolFailed("the cluster has no controller at the moment")
        arguments = (str(broker), str(epoch))
        result = await admin.run_tool("controlled-shutdown", arguments, broker_id=controller.id)
        return [TopicPartition(topic, partition) for topic, partition in json.loads(result.output)]
    request = ControlledShutdownRequest(broker_id=broker, broker_epoch=epoch)
    answer = await admin.router.command(request, error_code=error_code, repeatable=True)
    response = answer.accepted(f"broker {broker}")
    return [
        TopicPartition(remaining_partition.topic_name, remaining_partition.partition_index)
        for remaining_partition in response.remaining_partitions
    ]
