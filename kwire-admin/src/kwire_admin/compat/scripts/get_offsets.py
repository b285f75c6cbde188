"""`kafka-get-offsets`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire.client.admin import AdminError, OffsetSpec, TopicPartition
from kwire.client.admin.group_values import NAMED_TIMES
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptRefused, java_error
from kwire_admin.compat.topic_patterns import INTERNAL_TOPICS, InvalidPattern, TopicPattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_admin.compat.script import ScriptRun

NO_LEADER = "There is no leader for this topic-partition as we are in the middle of a leadership election."
RULE = re.compile(r"([^:,]*)(?::(?:(\d+)|(?:(\d+)?-(\d+)?)))?")


async def run(run: ScriptRun) -> None:
    """Print `topic:partition:offset` for each partition.

    Raises:
        ScriptRefused: no partition matches, or an argument is invalid.
    """
    values = run.values
    if values.number("offsets") not in (None, 1):
        raise ScriptUsageError("--offsets can only be 1: brokers return one offset for a time")
    if "topic-partitions" in values and ("topic" in values or "partitions" in values):
        raise ScriptRefused("--topic-partitions cannot be used with --topic or --partitions")
    spec = OffsetSpec(_time(run, values.get("time") or "latest"))
    matches = _filter(values.get("topic-partitions"), values.get("topic"), values.get("partitions"))
    admin = await run.admin()
    described = await admin.describe_topics()
    leaders = {
        TopicPartition(name, partition.partition): partition.leader
        for name, topic in sorted(described.items())
        if not isinstance(topic, AdminError) and not ("exclude-internal-topics" in values and name in INTERNAL_TOPICS)
        for partition in topic.partitions
        if matches(name, partition.partition)
    }
    if not leaders:
        raise ScriptRefused("Could not match any topic-partitions with the specified filters")
    # A partition without a leader is skipped at once: the others need not wait for its election.
    led = [partition for partition, leader in leaders.items() if leader is not None]
    offsets = await admin.list_offsets(dict.fromkeys(led, spec))
    for partition in leaders:
        offset = offsets.get(partition)
        run.has_failures |= offset is None or isinstance(offset, AdminError)
        if offset is None:
            run.warn(f"Skip getting offsets for topic-partition {partition} due to error: {NO_LEADER}")
        elif isinstance(offset, AdminError):
            run.warn(f"Skip getting offsets for topic-partition {partition} due to error: {java_error(offset)}")
        elif offset.offset is not None:
            run.print(f"{partition.topic}:{partition.partition}:{offset.offset}")


def _time(run: ScriptRun, text: str) -> int:
    if text in NAMED_TIMES:
        return NAMED_TIMES[text]
    try:
        return int(text)
    except ValueError:
        newest = "" if run.is_before("4.2") else " / -6 or earliest-pending-upload"  # KIP-1023
        raise ScriptRefused(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp "
            f"/ -4 or earliest-local / -5 or latest-tiered{newest}, or a specified long format timestamp"
        ) from None


def _filter(rules: str | None, topic: str | None, partitions: str | None) -> Callable[[str, int], bool]:
    """Return a function that chooses partitions by `--topic-partitions`, or by `--topic` and `--partitions`."""
    try:
        if rules is not None:
            chosen = [_rule(text) for text in rules.split(",")]
            return lambda name, index: any(matches(name, index) for matches in chosen)
        pattern = _pattern(topic)
        numbers = {int(text) for text in partitions.split(",")} if partitions else None
    except ValueError:
        raise ScriptRefused(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {partitions}"
        ) from None
    return lambda name, index: pattern.accepts(name) and (numbers is None or index in numbers)


def _pattern(text: str | None) -> TopicPattern:
    try:
        return TopicPattern(".*" if text is None else text)
    except InvalidPattern as error:
        raise ScriptRefused(str(error)) from None


def _rule(text: str) -> Callable[[str, int], bool]:
    """Return a function for a rule such as `orders:2` or `orders:1-4`."""
    parts = RULE.fullmatch(text)
    if parts is None:
        raise ScriptRefused(f"org.apache.kafka.tools.TerseException: Invalid rule specification: {text}")
    name, one, first, end = parts.groups()
    pattern = _pattern(name)
    low = int(one or first or 0)
    high = low + 1 if one is not None else None if end is None else int(end)
    return lambda topic, index: pattern.accepts(topic) and low <= index and (high is None or index < high)


get_offsets = Script(
    "kafka-get-offsets",
    ("org.apache.kafka.tools.GetOffsetShell", "kafka.tools.GetOffsetShell"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("broker-list", "DEPRECATED, use --bootstrap-server.", "HOST:PORT,...", same_as=BOOTSTRAP.name),
        ScriptOption("offsets", "Accepted for the sake of old scripts: only 1.", "count", "Integer"),
        ScriptOption("max-wait-ms", "Accepted for the sake of old scripts, without effect.", "ms", "Integer"),
        ScriptOption("topic-partitions", "Topics with partitions or ranges.", "topic1:1,topic2:0-3,topic3,topic4:5-"),
        ScriptOption("topic", "The topic to get the offsets for. It also accepts a regular expression.", "topic"),
        ScriptOption("partitions", "Comma separated list of partition ids to get the offsets for.", "partition ids"),
        ScriptOption("time", "Time of the offsets.", "timestamp|latest|earliest|max-timestamp|..."),
        ScriptOption("exclude-internal-topics", "By default, internal topics are included."),
    ),
    run,
    "Error occurred: ",
    fails_on_stdout=False,
)
