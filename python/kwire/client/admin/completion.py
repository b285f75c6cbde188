"""Wait until every broker reports a change.

Many commands are asynchronous: their completion shows in the metadata only. All live brokers are asked for the topics
concerned; the list of live brokers is requested again each time, so that a dead broker delays nothing.
"""

from __future__ import annotations

from kwire._util.concurrency import bounded_gather, running_loop, timeout_after
from kwire._util.light_typing import TYPE_CHECKING, TypeAlias, TypeVar
from kwire._util.readable import counted
from kwire.client.admin.errors import AdminError, BrokerNotFound, ChangeTimeout
from kwire.client.admin.topic_descriptions import describe_at
from kwire.client.admin.tries import FIRST_PAUSE, back_off
from kwire.client.admin.values import Progress
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.values import TopicDescription
    from kwire.protocol.endpoint import Endpoint

Item = TypeVar("Item")
Key = TypeVar("Key")
Value = TypeVar("Value")

SHORTEST_WAIT_S = 0.5
"""Seconds up to which a timeout does not end the first look. Chosen, not measured: answers take milliseconds."""
Condition: TypeAlias = "Callable[[TopicDescription], str | None] | None"
"""Returns what a topic lacks, as one broker reports it, or None if nothing. None in its place: no topic may exist."""
ProgressCallback: TypeAlias = "Callable[[Progress], None]"


async def wait_until(
    admin: AdminSession,
    change: str,
    conditions: Mapping[str, Condition],
    timeout: float,
    on_progress: ProgressCallback | None,
    *,
    configs: bool = False,
) -> None:
    """Wait until every broker satisfies the condition of each topic.

    Args:
        change: the change in past tense, for the error.
        conditions: by topic.
        configs: True if the conditions concern configs.

    Raises:
        ChangeTimeout: a condition is not satisfied in time.
        AdminError: 29 the user cannot describe a topic.
    """

    async def unmet(broker_id: int) -> Sequence[str]:
        endpoint = admin.router.metadata.brokers.get(broker_id)
        if endpoint is None:  # another call of this client found that it cannot be reached
            raise BrokerNotFound(broker_id)
        return await _unmet(admin, endpoint, conditions, configs=configs)

    await wait_for_brokers(admin.router, change, len(conditions), unmet, timeout, on_progress)


async def wait_for_values(
    router: ClusterRouter,
    expected: Mapping[Item, Mapping[Key, Value | None]],
    reported: Callable[[int], Awaitable[Mapping[Item, Mapping[Key, Value]]]],
    timeout: float,
    on_progress: ProgressCallback | None,
) -> None:
    """Wait until every broker reports values of items by key.

    Args:
        expected: the values; None for a key that an item does not have.
        reported: returns the values that the broker with this id reports.

    Raises:
        ChangeTimeout: a broker does not report the values in time.
    """

    async def unmet(broker_id: int) -> Sequence[str]:
        values_by_item = await reported(broker_id)
        return [
            f"{item} has {key}={value}"
            for item, values in expected.items()
            for key, expected_value in values.items()
            if (value := values_by_item.get(item, {}).get(key)) != expected_value
        ]

    await wait_for_brokers(router, "changed", sum(map(len, expected.values())), unmet, timeout, on_progress)


async def wait_for_brokers(
    router: ClusterRouter,
    change: str,
    conditions: int,
    unmet: Callable[[int], Awaitable[Sequence[str]]],
    timeout: float,
    on_progress: ProgressCallback | None,
) -> None:
    """Wait until no live broker has unmet conditions.

    Args:
        change: the change in past tense, for the error.
        conditions: number of conditions for a broker.
        unmet: returns which conditions the broker with this id does not satisfy. A ConnectionFault stands for all.
        timeout: seconds to wait; the brokers are asked once at least, also if it is over already.

    Raises:
        ChangeTimeout: a condition is not satisfied in time.
    """

    async def unmet_or_fault(broker_id: int) -> Sequence[str]:
        try:
            return await unmet(broker_id)
        except ConnectionFault as fault:
            return [fault.reason()] * conditions
        except BrokerNotFound as error:
            return [str(error)] * conditions

    missing: dict[str, Sequence[str]] = {}
    pause = FIRST_PAUSE
    loop = running_loop()
    deadline = loop.time() + timeout
    try:
        # Even if the time is over, such as the rest before a deadline, the first answers take the time of requests.
        async with timeout_after(timeout if timeout > SHORTEST_WAIT_S else router.timeout):
            while True:
                await router.describe_cluster()
                brokers = tuple(router.metadata.brokers)
                unmet_conditions = await bounded_gather(unmet_or_fault, brokers)
                missing = {f"broker {id}": items for id, items in zip(brokers, unmet_conditions, strict=True) if items}
                total = len(brokers) * conditions
                if on_progress is not None:
                    on_progress(Progress(total - sum(map(len, missing.values())), total))
                if not missing and brokers:
                    return
                if loop.time() >= deadline:
                    raise TimeoutError
                pause = await back_off(pause)
    except ConnectionFault:  # a Timeout of one request is a TimeoutError, too
        raise
    except TimeoutError:
        silent = {f"broker {id}": ["has not answered"] for id in router.metadata.brokers}
        raise ChangeTimeout(change, timeout, missing or silent) from None


async def _unmet(
    admin: AdminSession, broker: Endpoint, conditions: Mapping[str, Condition], *, configs: bool
) -> list[str]:
    """Return which conditions a broker does not satisfy.

    Raises:
        AdminError: the user cannot describe a topic, so that it cannot be waited for.
    """
    topics = await describe_at(admin, broker, tuple(conditions), configs=configs)
    for topic in topics.values():
        if isinstance(topic, AdminError) and topic.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise topic
    unknown = AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    unmet = ((name, _lack(topics.get(name, unknown), condition)) for name, condition in conditions.items())
    return [f"{name} {missing}" for name, missing in unmet if missing is not None]


def _lack(topic: TopicDescription | AdminError, condition: Condition) -> str | None:
    is_gone = isinstance(topic, AdminError) and topic.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if condition is None:
        return None if is_gone else "still exists"
    if isinstance(topic, AdminError):
        return "does not exist" if is_gone else f"has error {topic.name}"
    return condition(topic)


def expected_count(topic: object) -> int | None:
    """Return the number of partitions that a topic gets; None if any number is right.

    Raises:
        TypeError: it is something else.
    """
    from kwire.client.admin.values import NewTopic

    if isinstance(topic, NewTopic):
        return len(topic.assignment) or topic.partitions
    if topic is None or (isinstance(topic, int) and not isinstance(topic, bool)):
        return topic
    raise TypeError(f"expected a number of partitions or a NewTopic, got {topic!r}")


def is_created(partitions: int | None) -> Condition:
    """Return the condition that a topic exists and each partition has a leader.

    Args:
        partitions: the expected number of partitions; None for any.
    """

    def condition(topic: TopicDescription) -> str | None:
        if partitions is not None and len(topic.partitions) != partitions:
            return f"has {counted(len(topic.partitions), 'partition')} instead of {partitions}"
        leaderless = sum(partition.leader is None for partition in topic.partitions)
        return f"has {counted(leaderless, 'partition')} without leader" if leaderless else None

    return condition


def is_reassigned(targets: Mapping[int, Sequence[int]]) -> Condition:
    """Return the condition that partitions have the target replicas, all of them in sync."""

    def condition(topic: TopicDescription) -> str | None:
        partitions = {partition.partition: partition for partition in topic.partitions}
        for index, target in targets.items():
            partition = partitions.get(index)
            if partition is None:
                return f"has no partition {index}"
            if partition.replicas != tuple(target):
                return f"partition {index} has the replicas {list(partition.replicas)} instead of {list(target)}"
            if not set(target) <= set(partition.isr):
                return f"partition {index} has the ISR {list(partition.isr)}"
        return None

    return condition


def has_preferred_leaders(partitions: Sequence[int]) -> Condition:
    """Return the condition that the preferred replicas lead.

    Args:
        partitions: the partitions concerned; empty for all.
    """

    def condition(topic: TopicDescription) -> str | None:
        for partition in topic.partitions:
            concerned = not partitions or partition.partition in partitions
            if concerned and partition.replicas and partition.leader != partition.replicas[0]:
                leader = "no broker" if partition.leader is None else partition.leader
                return f"partition {partition.partition} is led by {leader}"
        return None

    return condition


def has_configs(expected: Mapping[str, str | None]) -> Condition:
    """Return the condition that a topic overrides configs with these values; None for no override."""
    from kwire.client.admin.config_values import is_same_value  # commands that wait for no configs do without it

    def condition(topic: TopicDescription) -> str | None:
        configs = topic.configs or {}
        for key, value in expected.items():
            if not is_same_value(configs.get(key), value):
                return f"has {key}={configs[key]}" if key in configs else f"has no {key}"
        return None

    return condition
