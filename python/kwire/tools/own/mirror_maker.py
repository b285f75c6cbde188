"""The tool `mirror-maker`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kwire.client.admin import EARLIEST, LATEST, AdminClient, AdminError, TopicPartition
from kwire.parameters import Danger, InvalidArgument, Option
from kwire.tools.mirror import Mirror
from kwire.tools.tool import Need, tool
from kwire.tools.tool_run import ToolRun
from kwire.tools.topic_filter import TopicFilter


@tool(
    Danger.CHANGES,
    needs={Need.BROKERS, Need.FILES},
    time_limit=None,
    replaces="kafka.tools.MirrorMaker",
    examples=(
        "--consumer-config source.properties --producer-config target.properties --whitelist 'orders|audit'",
        "--source east:9092 --target west:9092 --group mirror --until-caught-up",
    ),
)
async def mirror_maker(
    run: ToolRun,
    consumer_config: Annotated[
        Path | None, Option("The client.properties of the source.", "FILE", also=("--consumer.config",))
    ] = None,
    producer_config: Annotated[
        Path | None, Option("The client.properties of the target.", "FILE", also=("--producer.config",))
    ] = None,
    source: Annotated[
        str | None, Option("Some brokers of the source [default: those of the file].", "HOST:PORT")
    ] = None,
    target: Annotated[
        str | None, Option("Some brokers of the target [default: those of the file].", "HOST:PORT")
    ] = None,
    whitelist: Annotated[
        str, Option("A regular expression for the topics to copy.", "REGEX", also=("--include",))
    ] = ".*",
    blacklist: Annotated[
        str | None, Option("A regular expression for topics not to copy.", "REGEX", also=("--exclude",))
    ] = None,
    group: Annotated[
        str, Option("The consumer group in the source that keeps the progress.", "GROUP")
    ] = "kwire-mirror-maker",
    offset_reset: Annotated[
        str, Option("Where a partition without progress begins: earliest or latest.", "WHERE")
    ] = "earliest",
    commit_interval: Annotated[float, Option("Seconds between two commits of the progress.", "SECONDS")] = 5.0,
    until_caught_up: Annotated[bool, Option("End at the ends of the partitions at the start.")] = False,
) -> None:
    """Copy records of topics to another cluster, at least once, and continue where the last run has stopped.

    Partitions keep their numbers, modulo the partitions of the target. Topics that the target lacks are created with
    the same number of partitions. The progress is committed after the target has acknowledged the records, also when
    the tool is canceled. Topics that are created later are copied by the next run.
    """
    if offset_reset not in {"earliest", "latest"}:
        raise InvalidArgument(f"--offset-reset: expected earliest or latest, found {offset_reset!r}")
    topics = TopicFilter(whitelist, blacklist)
    async with (
        await run.connect_to("source", source, consumer_config) as from_cluster,
        await run.connect_to("target", target, producer_config) as to_cluster,
    ):
        mirror = await Mirror.prepare(
            from_cluster, to_cluster, topics, group, EARLIEST if offset_reset == "earliest" else LATEST
        )
        run.print(f"copying {len(mirror.routes)} partitions of {len(mirror.topics)} topics")
        until = await _ends(from_cluster, list(mirror.routes)) if until_caught_up else None
        try:
            await mirror.run(until, commit_interval, run.print)
        finally:
            run.print(f"{mirror.copied} records copied")


async def _ends(admin: AdminClient, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    found = await admin.list_offsets(dict.fromkeys(partitions, LATEST), committed_only=True)
    ends = {}
    for partition, end in found.items():
        if isinstance(end, AdminError):
            raise end
        ends[partition] = end.offset or 0
    return ends
