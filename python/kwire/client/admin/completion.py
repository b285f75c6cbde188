"""Wait until every broker reports a change.

The commands of KIP-4 are asynchronous, so that their completion shows in the metadata only. All live brokers are asked
for the topics concerned; the list of live brokers is requested again each time, so that a dead broker delays nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from kwire.client.admin.controller_router import FIRST_PAUSE, back_off
from kwire.client.admin.errors import ChangeTimeout
from kwire.client.admin.values import Progress
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.client.admin.controller_router import ControllerRouter
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata
    from kwire.protocol.endpoint import Endpoint

Condition: TypeAlias = "Callable[[TopicMetadata], str | None]"
"""Returns what a topic lacks, as one broker reports it; None if nothing."""
ProgressCallback: TypeAlias = "Callable[[Progress], None]"


async def wait_until(
    router: ControllerRouter,
    change: str,
    conditions: Mapping[str, Condition],
    timeout: float,
    on_progress: ProgressCallback | None,
) -> None:
    """Wait until every broker satisfies the condition of each topic.

    Args:
        change: the change in past tense, for the error.
        conditions: by topic.

    Raises:
        ChangeTimeout: a condition is not satisfied in time.
    """
    missing: dict[str, list[str]] = {}
    pause = FIRST_PAUSE
    try:
        async with asyncio.timeout(timeout):
            while True:
                await router.describe_cluster()
                brokers = dict(router.brokers)
                unmet = await asyncio.gather(*(_unmet(router, each, conditions) for each in brokers.values()))
                missing = {f"broker {id}": each for id, each in zip(brokers, unmet, strict=True) if each}
                total = len(brokers) * len(conditions)
                if on_progress is not None:
                    on_progress(Progress(total - sum(map(len, missing.values())), total))
                if not missing and brokers:
                    return
                pause = await back_off(pause)
    except ConnectionFault:  # a Timeout of one request is a TimeoutError, too
        raise
    except TimeoutError:
        raise ChangeTimeout(change, timeout, missing) from None


async def _unmet(router: ControllerRouter, broker: Endpoint, conditions: Mapping[str, Condition]) -> list[str]:
    """Return which conditions a broker does not satisfy."""
    try:
        response = await router.send(broker, TopicMetadataRequest_V1(topic_names=tuple(conditions)))
    except ConnectionFault as fault:
        return [fault.reason()] * len(conditions)
    topics = {topic.topic_name: topic for topic in response.topics}
    unmet = ((name, condition(topics[name])) for name, condition in conditions.items())
    return [f"{name} {missing}" for name, missing in unmet if missing is not None]


def is_created(partitions: int | None) -> Condition:
    """Return the condition that a topic exists and each partition has a leader.

    Args:
        partitions: the expected number of partitions; None for any.
    """

    def condition(topic: TopicMetadata) -> str | None:
        if topic.topic_error_code != ErrorCode.NO_ERROR:
            return "does not exist"
        if partitions is not None and len(topic.partitions) != partitions:
            return f"has {len(topic.partitions)} partitions instead of {partitions}"
        leaderless = sum(partition.leader < 0 for partition in topic.partitions)
        return f"has {leaderless} partitions without leader" if leaderless else None

    return condition


def is_deleted(topic: TopicMetadata) -> str | None:
    """The condition that a topic does not exist."""
    return None if topic.topic_error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else "still exists"


def is_reassigned(targets: Mapping[int, Sequence[int]]) -> Condition:
    """Return the condition that partitions have the target replicas, all of them in sync."""

    def condition(topic: TopicMetadata) -> str | None:
        partitions = {each.partition_id: each for each in topic.partitions}
        for index, target in targets.items():
            partition = partitions.get(index)
            if partition is None:
                return f"has no partition {index}"
            replicas = [each.replica_id for each in partition.replicas_lag]
            if replicas != list(target):
                return f"partition {index} has the replicas {replicas} instead of {list(target)}"
            if not set(target) <= set(partition.isr):
                return f"partition {index} has the ISR {list(partition.isr)}"
        return None

    return condition


def has_preferred_leaders(partitions: Sequence[int]) -> Condition:
    """Return the condition that the preferred replicas lead.

    Args:
        partitions: the partitions concerned; empty for all.
    """

    def condition(topic: TopicMetadata) -> str | None:
        for each in topic.partitions:
            concerned = not partitions or each.partition_id in partitions
            if concerned and each.replicas_lag and each.leader != each.replicas_lag[0].replica_id:
                return f"partition {each.partition_id} is led by {each.leader}"
        return None

    return condition
