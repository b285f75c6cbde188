"""The tool `mirror-maker`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from kwire._util.light_dataclasses import dataclass
from kwire._util.readable import counted
from kwire.client.admin import EARLIEST, LATEST, AdminClient, AdminError, TopicPartition
from kwire_admin.operations.declaration import ANYWHERE, Need, operation
from kwire_admin.operations.parameters import Address, Danger, InvalidArgument, Option
from kwire_admin.operations.topic_filter import TopicFilter
from kwire_zookeeper_tools.records.mirror import Mirror
from kwire_zookeeper_tools.tool_run import ToolRun

DEFAULT_GROUP = "kwire-mirror-maker"
START = {"earliest": EARLIEST, "latest": LATEST, "smallest": EARLIEST, "largest": LATEST}
"""The values of `auto.offset.reset`, also those of Kafka 0.8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorOptions:
    """Options of the tool."""

    consumer_config: Annotated[
        Path | None, Option("The client.properties of the source.", "FILE", also=("--consumer.config",))
    ] = None
    producer_config: Annotated[
        Path | None, Option("The client.properties of the target.", "FILE", also=("--producer.config",))
    ] = None
    source: Annotated[
        Address | None, Option("Some brokers of the source [default: those of the file].", "HOST:PORT")
    ] = None
    target: Annotated[
        Address | None, Option("Some brokers of the target [default: those of the file].", "HOST:PORT")
    ] = None
    whitelist: Annotated[str, Option("A regular expression for the topics to copy.", "REGEX", also=("--include",))] = (
        ".*"
    )
    blacklist: Annotated[
        str | None, Option("A regular expression for topics not to copy.", "REGEX", also=("--exclude",))
    ] = None
    group: Annotated[
        str | None,
        Option("The group in the source that keeps the progress [default: group.id, or kwire-mirror-maker].", "GROUP"),
    ] = None
    offset_reset: Annotated[
        str | None,
        Option("Where a partition without progress begins [default: auto.offset.reset, or earliest].", "WHERE"),
    ] = None
    commit_interval: Annotated[float, Option("Seconds between two commits of the progress.", "SECONDS")] = 5.0
    offset_commit_interval_ms: Annotated[
        int | None, Option("The same in milliseconds.", "MS", also=("--offset.commit.interval.ms",))
    ] = None
    abort_on_send_failure: Annotated[
        str,
        Option(
            "false to go on after records that the target refuses, and to lose them there.",
            "true|false",
            also=("--abort.on.send.failure",),
        ),
    ] = "true"
    until_caught_up: Annotated[bool, Option("End at the ends of the partitions at the start.")] = False


@operation(
    Danger.CHANGES,
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.FILES},
    time_limit=None,
    without_effect=("--new.producer", "--new.consumer", "--num.producers N", "--num.streams N", "--queue.size N"),
    refused=dict.fromkeys(
        ("--consumer.rebalance.listener", "--message.handler", "--message.handler.args", "--rebalance.listener.args"),
        "it is about a Java class, and kwire runs no Java: records are copied as they are",
    ),
    replaces=("kafka.tools.MirrorMaker",),
    examples=(
        "--consumer-config source.properties --producer-config target.properties --whitelist 'orders|audit'",
        "--source east:9092 --target west:9092 --group mirror --until-caught-up",
    ),
)
async def mirror_maker(run: ToolRun, options: MirrorOptions) -> None:
    """Copy records of topics to another cluster, at least once, and continue where the last run has stopped.

    Partitions keep their numbers, modulo the partitions of the target. Topics that the target lacks are created with
    the same number of partitions. The progress is committed after the target has acknowledged the records, also when
    the tool is canceled. Topics that are created later are copied by the next run. A partition that cannot be copied
    any further is reported, the others go on, and the tool fails at its end; commit a later offset for the group to
    skip what cannot be read.
    """
    settings = {} if options.consumer_config is None else run.properties(options.consumer_config)
    group = options.group or settings.get("group.id", DEFAULT_GROUP)
    start = START.get(options.offset_reset or settings.get("auto.offset.reset", "earliest"))
    if start is None:
        raise InvalidArgument(f"--offset-reset: expected {', '.join(START)}, found {options.offset_reset!r}")
    aborts = options.abort_on_send_failure
    if aborts.lower() not in ("true", "false"):
        raise InvalidArgument(f"--abort-on-send-failure: expected true or false, found {aborts!r}")
    topics = TopicFilter(options.whitelist, options.blacklist)
    async with (
        await run.connect_to("source", options.source, options.consumer_config) as from_cluster,
        await run.connect_to("target", options.target, options.producer_config) as to_cluster,
    ):
        skip_refused = aborts.lower() == "false"
        mirror = await Mirror.prepare(
            from_cluster, to_cluster, topics, group, start, run.print, skip_refused=skip_refused
        )
        run.print(f"copying {counted(len(mirror.routes), 'partition')} of {counted(len(mirror.topics), 'topic')}")
        milliseconds = options.offset_commit_interval_ms
        until = await _ends(from_cluster, mirror) if options.until_caught_up else None
        try:
            await mirror.run(until, options.commit_interval if milliseconds is None else milliseconds / 1000)
        finally:
            lost = f", {mirror.copy.refused} refused by the target" if mirror.copy.refused else ""
            run.print(f"{counted(mirror.copy.copied, 'record')} copied{lost}")


async def _ends(admin: AdminClient, mirror: Mirror) -> dict[TopicPartition, int]:
    offsets = await admin.list_offsets(dict.fromkeys(mirror.routes, LATEST), committed_only=True)
    ends = {}
    for partition, end in offsets.items():
        if isinstance(end, AdminError):
            mirror.copy.fail(partition, str(end))
        else:
            ends[partition] = end.offset or 0
    return ends
