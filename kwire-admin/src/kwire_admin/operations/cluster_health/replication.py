"""Replication that stands still, as the logs of the brokers show it.

Only the controller changes the replicas in sync of a partition. A leader that does not reach the controller keeps those
of before in its metadata, and with ZooKeeper, brokers that do not reach each other stay registered. Their logs differ
nevertheless: a leader moves the high watermark on once all replicas in sync have fetched. So the end of each log is
compared with the high watermark that the leader has a moment later. A partition without new records shows nothing.
"""

from __future__ import annotations

from collections import defaultdict

from kwire._util.concurrency import gather, running_loop, sleep
from kwire._util.light_typing import TYPE_CHECKING, TypeAlias
from kwire._util.readable import counted
from kwire.client.admin import AdminError, PartitionDescription, TopicDescription, TopicPartition
from kwire.client.admin.answer import lacking, result_error
from kwire.client.admin.leaders import by_partition
from kwire.client.admin.replica_lag import DEBUGGING_REPLICA, latest_offsets_request
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.operations.cluster_health.checks import NOT_CHECKED, HealthProblem
from kwire_admin.operations.cluster_health.sources import in_time, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin import AdminClient
    from kwire_admin.operations.cluster_health.sources import Sources

    Offsets: TypeAlias = dict[TopicPartition, int | Exception]

CONSUMER = -1
"""The replica id of consumers in ListOffsets, to which the latest offset is the high watermark. To a debugging replica
it is the end of the log, which followers report as well."""
PAUSE_S = 0.2
"""Seconds between two looks at a high watermark. Followers fetch at least every 0.5 s. Chosen, not measured."""
ELECTED_JUST_NOW = ErrorCode.OFFSET_NOT_AVAILABLE
"""The error of a new leader whose high watermark has not reached its first offset."""


async def replication_problems(
    admin: AdminClient, sources: Sources, topics: Mapping[str, TopicDescription | AdminError], seconds: float
) -> list[HealthProblem]:
    """Return the partitions with records that replicas in sync do not fetch.

    Args:
        sources: the answers of brokers.
        seconds: time within which replicas fetch, and timeout of each request.
    """
    if admin.dialect != "kafka":
        return []
    partitions = {
        TopicPartition(name, partition.partition): partition
        for name, topic in topics.items()
        if isinstance(topic, TopicDescription)
        for partition in topic.partitions
        if len(partition.replicas) > 1 and partition.leader is not None and sources.reaches(partition.leader)
    }
    ends = await _at_leaders(admin, sources, partitions, DEBUGGING_REPLICA, seconds)
    unknown = {key: end for key, end in ends.items() if isinstance(end, Exception)}
    waiting = {key: end for key, end in ends.items() if isinstance(end, int)}
    # Wait for the high watermarks to reach these ends. Later records do not matter, so a busy cluster is done at once.
    watermarks: Offsets = {}
    deadline = running_loop().time() + seconds
    while waiting:
        led = {key: partitions[key] for key in waiting}
        watermarks = await _at_leaders(admin, sources, led, CONSUMER, seconds)
        unknown |= {
            key: watermark
            for key, watermark in watermarks.items()
            if isinstance(watermark, Exception) and getattr(watermark, "code", None) != ELECTED_JUST_NOW
        }
        waiting = {key: end for key, end in waiting.items() if key not in unknown and _is_below(watermarks[key], end)}
        left = deadline - running_loop().time()
        if not waiting or left <= 0:
            break
        await sleep(min(PAUSE_S, left))
    # The replicas themselves tell which of them did not fetch.
    behind = await _replicas_behind(admin, sources, {key: partitions[key] for key in waiting}, waiting, seconds)
    problems = [
        HealthProblem(
            "replication-stalled",
            partitions[key].leader,
            *key,
            f"{_text(watermarks[key])} after {seconds:g} s, log end {end} before; not fetched by {behind[key]}",
        )
        for key, end in sorted(waiting.items())
    ]
    if unknown:
        first = min(unknown)
        more = f" and {counted(len(unknown) - 1, 'more partition')}" if len(unknown) > 1 else ""
        reason = f"replication of {first}{more}: {reason_of(unknown[first])}"
        problems.append(HealthProblem(NOT_CHECKED, None, None, None, reason))
    return problems


def _is_below(watermark: int | Exception, end: int) -> bool:
    return not isinstance(watermark, int) or watermark < end


def _text(watermark: int | Exception) -> str:
    return "no high watermark" if isinstance(watermark, Exception) else f"high watermark {watermark}"


async def _replicas_behind(
    admin: AdminClient,
    sources: Sources,
    partitions: Mapping[TopicPartition, PartitionDescription],
    ends: Mapping[TopicPartition, int],
    seconds: float,
) -> dict[TopicPartition, str]:
    """Return the replicas in sync whose own log ends before an offset, or whose log end is unknown, as text."""
    hosted: dict[int, list[TopicPartition]] = defaultdict(list)
    for key, partition in partitions.items():
        for replica in partition.isr:
            if replica != partition.leader:
                hosted[replica].append(key)
    reached = [broker for broker in hosted if sources.reaches(broker)]
    answers = await gather(
        *(_offsets_at(admin, sources, broker, hosted[broker], DEBUGGING_REPLICA, seconds) for broker in reached)
    )
    own = dict(zip(reached, answers, strict=True))
    behind: dict[TopicPartition, list[str]] = {key: [] for key in partitions}
    for broker, keys in sorted(hosted.items()):
        for key in keys:
            end = own.get(broker, {}).get(key)
            if not isinstance(end, int):
                behind[key].append(f"broker {broker} (unknown log end)")
            elif end < ends[key]:
                behind[key].append(f"broker {broker} (log end {end})")
    return {key: ", ".join(brokers) or "some replica in time" for key, brokers in behind.items()}


async def _at_leaders(
    admin: AdminClient,
    sources: Sources,
    partitions: Mapping[TopicPartition, PartitionDescription],
    replica: int,
    seconds: float,
) -> Offsets:
    """Return the latest offsets as the leaders report them; an error for partitions whose offset is unknown."""
    led: dict[int, list[TopicPartition]] = defaultdict(list)
    for key, partition in partitions.items():
        if partition.leader is not None:
            led[partition.leader].append(key)
    answers = await gather(
        *(_offsets_at(admin, sources, leader, keys, replica, seconds) for leader, keys in led.items())
    )
    return {key: offset for answer in answers for key, offset in answer.items()}


async def _offsets_at(
    admin: AdminClient, sources: Sources, broker: int, keys: Iterable[TopicPartition], replica: int, seconds: float
) -> Offsets:
    """Return the latest offsets as a broker reports them to a consumer or a debugging replica."""
    request = latest_offsets_request(keys, replica, int(seconds * 1000))
    address = next(address for address in sources.addresses[broker] if address in sources.answers)
    answer = await in_time(admin.router.send(address, request, seconds), seconds)
    if isinstance(answer, Exception):
        return dict.fromkeys(keys, answer)
    reported = by_partition(answer.topics)
    offsets: Offsets = {}
    for key in keys:
        result = reported.get(key)
        if result is None or (not result.error_code and result.offset < 0):
            offsets[key] = lacking(str(key))
        else:
            offsets[key] = result_error(result, str(key)) or result.offset
    return offsets
