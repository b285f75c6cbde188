"""Waiting until every broker tells of a change: commands are asynchronous, and this is how their end is seen (KIP-4).

Rules of this file: brokers are asked for the topics in question only, each at its own connection, and the list of
brokers is asked for anew each time: one that died does not keep anybody waiting. A condition says of one topic, as one
broker tells it, what is still missing; None when nothing is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from kwire.client.admin.errors import NotSeenInTime
from kwire.client.admin.routing import FIRST_PAUSE, paused
from kwire.client.admin.values import Progress
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.client.admin.routing import Routing
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadata
    from kwire.protocol.endpoint import Endpoint

Condition: TypeAlias = "Callable[[TopicMetadata], str | None]"
Report: TypeAlias = "Callable[[Progress], None]"


async def wait_until(
    routing: Routing,
    what: str,
    conditions: Mapping[str, Condition],
    timeout: float,
    report: Report | None,
) -> None:
    """Until every broker satisfies the condition of each topic. Raises NotSeenInTime."""
    missing: dict[str, list[str]] = {}
    pause = FIRST_PAUSE
    try:
        async with asyncio.timeout(timeout):
            while True:
                await routing.cluster()
                brokers = dict(routing.brokers)
                lacks = await asyncio.gather(*(_lacks(routing, each, conditions) for each in brokers.values()))
                missing = {f"broker {id}": lack for id, lack in zip(brokers, lacks, strict=True) if lack}
                total = len(brokers) * len(conditions)
                if report is not None:
                    report(Progress(total - sum(map(len, missing.values())), total))
                if not missing and brokers:
                    return
                pause = await paused(pause)
    except TimeoutError:
        raise NotSeenInTime(what, timeout, missing) from None


async def _lacks(routing: Routing, broker: Endpoint, conditions: Mapping[str, Condition]) -> list[str]:
    try:
        answer = await routing.ask(broker, TopicMetadataRequest_V1(topic_names=tuple(conditions)))
    except ConnectionFault as fault:
        return [fault.reason()] * len(conditions)
    told = {topic.topic_name: topic for topic in answer.topics}
    lacks = ((name, condition(told[name])) for name, condition in conditions.items())
    return [f"{name} {lack}" for name, lack in lacks if lack is not None]


def created(partitions: int | None) -> Condition:
    """The topic is there, with so many partitions if that is said, and each has a leader."""

    def condition(topic: TopicMetadata) -> str | None:
        if topic.topic_error_code != ErrorCode.NO_ERROR:
            return "is not there"
        if partitions is not None and len(topic.partitions) != partitions:
            return f"has {len(topic.partitions)} partitions instead of {partitions}"
        leaderless = sum(partition.leader < 0 for partition in topic.partitions)
        return f"has {leaderless} partitions without leader" if leaderless else None

    return condition


def deleted(topic: TopicMetadata) -> str | None:
    """The topic is not there."""
    return None if topic.topic_error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else "is still there"


def reassigned(targets: Mapping[int, Sequence[int]]) -> Condition:
    """The replicas of these partitions are the target, and the ISR contains it."""

    def condition(topic: TopicMetadata) -> str | None:
        told = {each.partition_id: each for each in topic.partitions}
        for index, target in targets.items():
            partition = told.get(index)
            if partition is None:
                return f"has no partition {index}"
            replicas = [each.replica_id for each in partition.replicas_lag]
            if replicas != list(target):
                return f"partition {index} has the replicas {replicas} instead of {list(target)}"
            if not set(target) <= set(partition.isr):
                return f"partition {index} has the ISR {list(partition.isr)}"
        return None

    return condition


def led_by_preferred(partitions: Sequence[int]) -> Condition:
    """The head of the replicas leads, of these partitions or of all for none."""

    def condition(topic: TopicMetadata) -> str | None:
        for each in topic.partitions:
            asked = not partitions or each.partition_id in partitions
            if asked and each.replicas_lag and each.leader != each.replicas_lag[0].replica_id:
                return f"partition {each.partition_id} is led by {each.leader}"
        return None

    return condition
