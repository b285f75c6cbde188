"""Groups and transactional ids whose coordinator is missing: their partition has no leader, or its leader is dead."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, AdminError, GroupDescription, GroupLag
from kwire.client.admin.internal_topics import GROUPS, TRANSACTIONS, leaderless_partitions, partition_of
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault
from kwire.testing import FakeCluster
from kwire.testing.fake_offsets import coordinator_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.mark.parametrize(
    ("key", "hash"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("Aa", 2112),
        ("BB", 2112),
        ("é", 233),
        ("\U0001f600", 0xD83D * 31 + 0xDE00),  # two chars in Java
        ("polygenelubricants", 0),  # Integer.MIN_VALUE, for which Kafka takes 0
    ],
)
def test_partition_is_the_hash_code_of_java(key: str, hash: int) -> None:
    assert [partition_of(key, count) for count in (1, 7, 50)] == [hash % 1, hash % 7, hash % 50]


def state_of(answers: Mapping[str, object]) -> dict[str, str]:
    """Return the name of the error of each group, or `exists`."""
    return {
        group: answer.name if isinstance(answer, AdminError) else "exists"
        for group, answer in answers.items()
        if isinstance(answer, AdminError | GroupDescription | GroupLag)
    }


async def skip_waits(admin: AdminClient) -> None:
    """Advance the clock of a client by 4 seconds with each look."""
    await admin.describe_cluster()
    ticks = iter(range(0, 10**6, 4))
    admin.router.metadata.clock = lambda: float(next(ticks))


@pytest.mark.parametrize("seed", range(8))
async def test_group_without_coordinator_is_not_called_unknown(seed: int) -> None:
    choose = random.Random(seed)
    count = choose.randint(1, 12)
    leaderless = set(choose.sample(range(count), choose.randint(0, count)))
    existing, absent = ([f"{kind}-{number}" for number in range(10)] for kind in ("here", "gone"))
    expected = {
        group: "COORDINATOR_NOT_AVAILABLE"
        if partition_of(group, count) in leaderless
        else "exists"
        if group in existing
        else "GROUP_ID_NOT_FOUND"
        for group in existing + absent
    }
    with FakeCluster(brokers=3, topics=["orders"]) as cluster:
        cluster.create_topics([GROUPS], count, internal=True)
        cluster.set_groups({group: {"orders": {0: 1}} for group in existing})
        for partition in leaderless:
            cluster.remove_leader(GROUPS, partition)
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            assert await leaderless_partitions(admin, GROUPS) == sorted(leaderless)
            assert state_of(await admin.describe_groups(expected)) == expected
            assert state_of(await admin.group_lags(expected)) == expected
            listed = {group.group_id for group in await admin.list_groups()}
            assert listed == {group for group, state in expected.items() if state == "exists"}
            outcomes = await admin.delete_groups(expected, validate_only=True)
            assert {group: "exists" if error is None else error.name for group, error in outcomes.items()} == expected


async def test_cluster_without_groups_has_no_topic_of_groups() -> None:
    with FakeCluster(brokers=1) as cluster:
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            described = await admin.describe_groups(["billing"])
            assert state_of(described) == {"billing": "GROUP_ID_NOT_FOUND"}
            assert await leaderless_partitions(admin, TRANSACTIONS) == []
        assert GROUPS not in cluster.state.topics


@pytest.mark.parametrize("dead", [(2,), (2, 3), (3,)])
async def test_groups_of_brokers_that_answer_are_listed_without_a_controller(dead: tuple[int, ...]) -> None:
    """Without a quorum, dead brokers stay in the metadata."""
    groups = [f"group-{number}" for number in range(12)]
    with FakeCluster(brokers=3, topics=["orders"]) as cluster:
        cluster.create_topics([GROUPS], 6, internal=True)
        cluster.set_groups({group: {"orders": {0: 1}} for group in groups})
        living = {group for group in groups if coordinator_of(cluster.state, group) not in dead}
        for broker in dead:
            cluster.stop_broker(broker, fence=False)
        async with await AdminClient.open(cluster.endpoint(1), timeout=30) as admin:
            await skip_waits(admin)
            unanswered: dict[int, Exception] = {}
            assert {group.group_id for group in await admin.list_groups(unanswered=unanswered)} == living
            assert sorted(unanswered) == [*dead]
            assert await admin.list_transactions(unanswered=unanswered) == []
            assert state_of(await admin.describe_groups(groups)) == {
                group: "exists" if group in living else "COORDINATOR_NOT_AVAILABLE" for group in groups
            }
            with pytest.raises(ConnectionFault):
                await admin.list_groups()


async def test_transaction_does_not_hang_while_its_coordinator_is_missing() -> None:
    with FakeCluster(brokers=2) as cluster:
        cluster.create_topics([TRANSACTIONS], 4, internal=True)
        cluster.remove_leader(TRANSACTIONS, 3)
        async with await AdminClient.open(cluster.bootstrap, timeout=2) as admin:
            key = next(key for key in map(str, range(100)) if partition_of(key, 4) == 3)
            other = next(key for key in map(str, range(100)) if partition_of(key, 4) == 0)
            await skip_waits(admin)
            described = await admin.describe_transactions([key, other])
            codes = {id: answer.code for id, answer in described.items() if isinstance(answer, AdminError)}
    assert codes == {key: ErrorCode.COORDINATOR_NOT_AVAILABLE, other: ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}
