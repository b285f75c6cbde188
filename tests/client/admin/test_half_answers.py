"""Operations whose answers are lost, repeated, late, or cut: they end in time, and say what may have been changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire._util.secret import Secret
from kwire.client import AdminClient
from kwire.client.admin import (
    LATEST,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    ClientQuotaEntity,
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    OutcomeUnknown,
    ResourceType,
    TopicChange,
    TopicPartition,
)
from kwire.errors import KwireError
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.terminal.problems import Problem, problem_of
from kwire.testing import SimulatedNetwork
from tests.client.admin.lying_broker import Lie, LyingBroker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

TIMEOUT = 10.0
BOUND = 2 * TIMEOUT
"""Seconds: an operation sends two requests one after the other at most, beside short ones."""
ORDERS = TopicPartition("orders", 0)
TOPIC = ConfigResource(ConfigResourceType.TOPIC, "orders")
ACL = AclBinding(
    resource_type=ResourceType.TOPIC, resource_name="orders", principal="User:a", operation=AclOperation.READ
)
TOKEN = Secret("aGlkZGVu")

READING: tuple[Callable[[AdminClient], Awaitable[Any]], ...] = (
    lambda admin: admin.describe_cluster(),
    lambda admin: admin.list_topics(),
    lambda admin: admin.describe_topics(["orders"]),
    lambda admin: admin.describe_configs([TOPIC]),
    lambda admin: admin.list_groups(),
    lambda admin: admin.describe_groups(["billing"]),
    lambda admin: admin.list_group_offsets(["billing"]),
    lambda admin: admin.list_offsets({ORDERS: LATEST}),
    lambda admin: admin.describe_acls(AclBindingFilter()),
    lambda admin: admin.describe_log_dirs(),
    lambda admin: admin.describe_producers([ORDERS]),
    lambda admin: admin.describe_transactions(["t"]),
    lambda admin: admin.list_transactions(),
    lambda admin: admin.describe_delegation_tokens(),
    lambda admin: admin.describe_client_quotas(),
    lambda admin: admin.create_topics({"x": NewTopic(partitions=1, replication_factor=1)}, validate_only=True),
)


class Change(NamedTuple):
    """An operation that changes something.

    Attributes:
        request: the name of the request that changes it.
        run: runs the operation.
        is_repeatable: True if a second execution has the same effect.
    """

    request: str
    run: Callable[[AdminClient], Awaitable[Any]]
    is_repeatable: bool


CHANGES = (
    Change(
        "CreateTopicsRequest",
        lambda admin: admin.create_topics({"x": NewTopic(partitions=1, replication_factor=1)}),
        False,
    ),
    Change("CreatePartitionsRequest", lambda admin: admin.alter_topics({"orders": TopicChange(partitions=5)}), True),
    Change("DeleteTopicsRequest", lambda admin: admin.delete_topics(["orders"]), False),
    Change(
        "IncrementalAlterConfigsRequest",
        lambda admin: admin.alter_configs({TOPIC: ConfigChange(set={"retention.ms": "1"})}),
        True,
    ),
    Change(
        "IncrementalAlterConfigsRequest",
        lambda admin: admin.alter_configs({TOPIC: ConfigChange(append={"cleanup.policy": "compact"})}),
        False,
    ),
    Change("OffsetCommitRequest", lambda admin: admin.alter_group_offsets("billing", {ORDERS: 5}), True),
    Change("OffsetDeleteRequest", lambda admin: admin.delete_group_offsets("billing", [ORDERS]), False),
    Change("DeleteGroupsRequest", lambda admin: admin.delete_groups(["billing"]), False),
    Change("DeleteRecordsRequest", lambda admin: admin.delete_records({ORDERS: 1}), True),
    Change("DeleteRecordsRequest", lambda admin: admin.delete_records({ORDERS: -1}), False),
    Change("CreateAclsRequest", lambda admin: admin.create_acls([ACL]), True),
    Change("DeleteAclsRequest", lambda admin: admin.delete_acls([AclBindingFilter()]), False),
    Change("ElectLeadersRequest", lambda admin: admin.elect_leaders({"orders": [0]}), True),
    Change("ElectLeadersRequest", lambda admin: admin.elect_leaders({"orders": [0]}, unclean=True), False),
    Change("CreateDelegationTokenRequest", lambda admin: admin.create_delegation_token(), False),
    Change("RenewDelegationTokenRequest", lambda admin: admin.renew_delegation_token(TOKEN), False),
    Change("ExpireDelegationTokenRequest", lambda admin: admin.expire_delegation_token(TOKEN), False),
    Change(
        "AlterClientQuotasRequest",
        lambda admin: admin.alter_client_quotas({ClientQuotaEntity(user="a"): {"producer_byte_rate": 1.0}}),
        True,
    ),
    Change("AlterPartitionReassignmentsRequest", lambda admin: admin.reassign_partitions({"orders": {0: [1]}}), True),
    Change("AlterPartitionReassignmentsRequest", lambda admin: admin.cancel_reassignments({"orders": [0]}), False),
    Change("InitProducerIdRequest", lambda admin: admin.terminate_transactions(["t"]), True),
)
LOSING = {Lie.LOST, Lie.CUT, Lie.OTHER_ID, Lie.CLOSED_BEFORE}
"""Lies after which no answer about a change ever arrives."""


class Result(NamedTuple):
    """The end of an operation.

    Attributes:
        value: the returned value; None if it failed.
        error: its error; None if it returned.
        seconds: the time that it took.
        received: the numbers of requests by name.
        keys: the API keys of the requests by name.
    """

    value: Any
    error: KwireError | None
    seconds: float
    received: Counter[str]
    keys: dict[str, int]


def run(operation: Callable[[AdminClient], Awaitable[Any]], lie: Lie | None = None, liar: int | None = None) -> Result:
    """Run an operation while a broker lies about one API."""
    network = SimulatedNetwork()
    broker = LyingBroker("broker-1", 9092)
    network.add_name("broker-1", ["10.0.0.1"])
    network.listen("10.0.0.1", 9092, broker.accept)
    value, error, seconds = None, None, 0.0

    async def work() -> None:
        nonlocal value, error, seconds
        async with await AdminClient.open("broker-1:9092", timeout=TIMEOUT) as admin:
            broker.lie, broker.liar = lie, liar
            begun = network.loop.time()
            try:
                value = await operation(admin)
            except KwireError as failure:
                error = failure
            seconds = network.loop.time() - begun

    network.run(work())
    received = Counter(type(request).__name__ for request in broker.received)
    keys = {type(request).__name__: request.api_key for request in broker.received}
    return Result(value, error, seconds, received, keys)


def test_every_operation_ends_in_time_whatever_happens_to_an_answer() -> None:
    late = []
    for number, operation in enumerate((*READING, *(change.run for change in CHANGES))):
        right = run(operation)
        assert right.error is None
        for name, key in right.keys.items():
            for lie in Lie:
                seconds = run(operation, lie, key).seconds
                if seconds > BOUND:
                    late.append((number, name, lie, seconds))
    assert not late


def first_error(end: Result) -> KwireError | None:
    """Return the error of an operation or of its first item."""
    items = end.value.values() if isinstance(end.value, Mapping) else ()
    return end.error or next((item for item in items if isinstance(item, KwireError)), None)


def problems_of(change: Change, lie: Lie) -> list[str]:
    """Return what a client does or says wrongly while a broker lies about the answers to a change."""
    key = run(change.run).keys[change.request]
    end = run(change.run, lie, key)
    sent = end.received[change.request]
    problems = []
    if lie is not Lie.NOT_RESPONSIBLE and sent > 1 and not change.is_repeatable:
        problems.append(f"sent {sent} times")
    error = first_error(end)
    if lie in LOSING | {Lie.TIMED_OUT} and (error is None or problem_of(error) is not Problem.OUTCOME_UNKNOWN):
        problems.append(f"the outcome is {error or end.value!r}")
    if lie in LOSING and sent > 1 and f"sent {sent} times" not in str(error):
        problems.append(f"sent {sent} times, and {error}")
    if lie in {Lie.REPEATED, Lie.CLOSED_AFTER} and (sent > 1 or error is not None):
        problems.append(f"an answer has arrived, and {error}")
    return [f"{change.request}, {lie}: {problem}" for problem in problems]


def test_no_change_is_repeated_or_lost_without_a_word() -> None:
    problems = [problem for change in CHANGES for lie in Lie for problem in problems_of(change, lie)]
    assert not problems, "\n".join(problems)


def test_dry_run_has_no_unknown_outcome() -> None:
    end = run(READING[-1], Lie.LOST, 19)

    assert end.error is not None
    assert not isinstance(end.error, OutcomeUnknown)


def test_lost_answer_stays_lost_while_later_tries_are_refused() -> None:
    """The first try may have taken effect, whatever brokers say about the others."""
    for change in CHANGES:
        if change.is_repeatable:
            key = run(change.run).keys[change.request]
            end = run(change.run, Lie.LOST_THEN_REFUSED, key)
            error = first_error(end)
            assert error is not None
            assert problem_of(error) is Problem.OUTCOME_UNKNOWN, (change, end)


def test_metadata_are_not_a_change() -> None:
    assert run(READING[1]).received == {MetadataRequest.__name__: 2}
