"""The tool `replay-log-producer`."""

from __future__ import annotations

from typing import Annotated

from kwire._util.readable import counted
from kwire.client.admin import EARLIEST, LATEST, TopicPartition
from kwire_admin.operations.declaration import ANYWHERE, Need, operation
from kwire_admin.operations.parameters import Danger, InvalidArgument, Option
from kwire_admin.operations.partitions import existing_partitions
from kwire_zookeeper_tools.offsets.offset_times import offsets_of
from kwire_zookeeper_tools.progress import reporting
from kwire_zookeeper_tools.records.record_copy import RecordCopy
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    Danger.CHANGES,
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    time_limit=None,
    without_effect=("--threads N", "--property KEY=VALUE"),
    replaces=("kafka.tools.ReplayLogProducer",),
    examples=("--broker-list localhost:9092 --inputtopic orders --outputtopic orders-replayed --messages 1000",),
)
async def replay_log_producer(
    run: ToolRun,
    inputtopic: Annotated[str, Option("The topic to read, from its beginning.", "TOPIC", also=("--input-topic",))],
    outputtopic: Annotated[str, Option("The topic to write, which must exist.", "TOPIC", also=("--output-topic",))],
    messages: Annotated[int, Option("How many records to copy; -1 for all that exist.", "N")] = -1,
    reporting_interval: Annotated[int | None, Option("Milliseconds between lines about the progress.", "MS")] = None,
    sync: Annotated[bool, Option("Read no further before records are acknowledged.")] = False,
) -> None:
    """Copy the records of a topic to another topic of the same cluster, at least once.

    Partitions keep their numbers, modulo the partitions of the output topic. It ends where the input ended at the
    start.
    """
    if inputtopic == outputtopic:
        raise InvalidArgument("the input topic and the output topic are the same")
    admin = await run.admin()
    sources = await existing_partitions(admin, [inputtopic])
    targets = len(await existing_partitions(admin, [outputtopic]))
    routes = {source: TopicPartition(outputtopic, source.partition % targets) for source in sources}
    starts = await offsets_of(admin, sources, EARLIEST)
    limit = None if messages < 0 else messages
    copy = RecordCopy(admin, admin, routes, starts, limit=limit, one_by_one=sync, report=run.print)
    try:
        async with reporting(run, reporting_interval, lambda: f"{counted(copy.copied, 'record')} copied so far"):
            await copy.run(await offsets_of(admin, sources, LATEST))
    finally:
        run.print(f"{counted(copy.copied, 'record')} copied from {inputtopic} to {outputtopic}")
