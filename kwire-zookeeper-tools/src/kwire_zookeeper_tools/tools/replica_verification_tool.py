"""The tool `replica-verification-tool`."""

from __future__ import annotations

from typing import Annotated

from kwire._util.readable import counted
from kwire.client.admin import LATEST
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.topic_filter import TopicFilter
from kwire_zookeeper_tools.offsets.offset_times import offsets_of, parse_time
from kwire_zookeeper_tools.progress import reporting
from kwire_zookeeper_tools.records.replica_comparison import ReplicaComparison, replicas_of
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS},
    time_limit=3600,
    replaces=("kafka.tools.ReplicaVerificationTool", "org.apache.kafka.tools.ReplicaVerificationTool"),
    examples=("--broker-list localhost:9092 --topic-white-list 'orders.*'",),
)
async def replica_verification_tool(
    run: ToolRun,
    topic_white_list: Annotated[
        str, Option("A regular expression for the topics.", "REGEX", also=("--topics-include",))
    ] = ".*",
    time: Annotated[str, Option("Where to begin: earliest, latest, or milliseconds since 1970.", "WHERE")] = "earliest",
    fetch_size: Annotated[int, Option("The most bytes of a partition in a request.", "BYTES")] = 1_048_576,
    max_wait_ms: Annotated[int, Option("How long a broker waits for records.", "MS")] = 1000,
    report_interval_ms: Annotated[
        int | None, Option("Milliseconds between two lines about the progress.", "MS")
    ] = None,
) -> None:
    """Compare the records of all replicas of partitions, up to the ends of the logs at the start.

    Kafka's tool begins at the end of the log and never ends; this one compares what exists. A replica that ends before
    the high watermark differs. Replicas may be compacted at different times, so only offsets that both have are
    compared.
    """
    spec = parse_time("--time", time)
    topics = TopicFilter(topic_white_list)
    admin = await run.admin()
    replicas = await replicas_of(admin, topics)
    if not replicas:
        raise ToolFailed("no topic matches the expression")
    partitions = list(replicas)
    starts = await offsets_of(admin, partitions, spec)
    ends = await offsets_of(admin, partitions, LATEST)
    comparison = ReplicaComparison(admin, fetch_size=fetch_size, max_wait_ms=max_wait_ms)
    differences = done = 0

    def progress() -> str:
        return f"{done} of {len(partitions)} partitions, {counted(comparison.compared, 'record')} compared so far"

    async with reporting(run, report_interval_ms, progress):
        for partition in partitions:
            differing = await comparison.compare(partition, replicas[partition], starts[partition], ends[partition])
            for difference in differing:
                run.print(difference)
            differences += len(differing)
            done += 1
    run.print(
        f"{counted(len(partitions), 'partition')}, {counted(comparison.compared, 'record')} compared on "
        f"{counted(sum(map(len, replicas.values())), 'replica')}, {counted(differences, 'difference')}"
    )
    if differences:
        raise ToolFailed(f"replicas differ in {counted(differences, 'place')}")
