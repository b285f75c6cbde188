"""The tool `consumer-offset-checker`."""

from __future__ import annotations

import asyncio
from typing import Annotated

from kwire.client.admin import TopicPartition
from kwire.protocol.errors import ConnectionFault
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Option
from kwire_zookeeper_tools.offsets.consumer_offsets import log_ends, owners_of, stored_offsets
from kwire_zookeeper_tools.tool_run import ToolRun, registered_brokers

FORMAT = "{:<15} {:<30} {:<3} {:<15} {:<15} {:<15} {}"


@operation(
    runs_on=ANYWHERE,
    needs={Need.ZOOKEEPER, Need.BROKERS},
    replaces=("kafka.tools.ConsumerOffsetChecker",),
    examples=("--zookeeper localhost:2181 --group app", "--zookeeper localhost:2181 --group app --topic orders,audit"),
)
async def consumer_offset_checker(
    run: ToolRun,
    group: Annotated[str, Option("The consumer group.", "GROUP")],
    topic: Annotated[str | None, Option("Only these topics [default: those with offsets].", "TOPIC,...")] = None,
    broker_info: Annotated[bool, Option("Print the addresses of the brokers.")] = False,
    socket_timeout_ms: Annotated[
        int | None, Option("Timeout of requests to brokers.", "MS", also=("--socket.timeout.ms",))
    ] = None,
    retry_backoff_ms: Annotated[
        int | None,
        Option("Pause before brokers that fail are asked again [default: never].", "MS", also=("--retry.backoff.ms",)),
    ] = None,
) -> None:
    """Print offsets of a group that are stored in ZooKeeper, the ends of the logs, and the lag.

    A cluster of kwire's nodes stores no records, so the end of a log is `-` there.
    """
    store = await run.zookeeper()
    offsets = await stored_offsets(store, [group], topic.split(",") if topic else ())
    if not offsets:
        raise ToolFailed(f"ZooKeeper has no offsets of the group {group}")
    partitions = [TopicPartition(offset.topic, offset.partition) for offset in offsets]
    admin = await run.admin()
    if socket_timeout_ms is not None:
        admin.timeout = socket_timeout_ms / 1000
    ends: dict[TopicPartition, int] | None = None
    while ends is None:
        try:
            ends = await log_ends(admin, partitions)
        except ConnectionFault:
            if retry_backoff_ms is None:
                raise
            await asyncio.sleep(retry_backoff_ms / 1000)
    owners = await owners_of(store, group, partitions)
    run.print(FORMAT.format("Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner"))
    for stored, partition, owner in zip(offsets, partitions, owners, strict=True):
        end = ends.get(partition)
        numbers = ("-", "unknown") if end is None else (end, end - stored.offset)
        run.print(FORMAT.format(*stored, *numbers, owner or "none").rstrip())
    if broker_info:
        run.print("BROKER INFO")
        for broker, registration in sorted((await registered_brokers(store)).items()):
            run.print(f"{broker} -> {registration.endpoints[0].host}:{registration.endpoints[0].port}")
