"""Verbs and scripts about partitions and groups of a broker that is dead, and that the metadata still lists."""

from __future__ import annotations

import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import LATEST, AdminClient, AdminError, GroupLag, TopicPartition
from kwire.client.admin.internal_topics import partition_of
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.endpoint import Endpoint
from kwire.terminal.problems import UNREACHABLE, exit_code
from kwire.testing import FakeCluster
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.brokers import api_versions
from kwire_admin.operations.verbs.brokers import list_ as list_brokers
from kwire_admin.operations.verbs.features import describe as describe_features
from kwire_admin.operations.verbs.groups import describe as describe_groups
from kwire_admin.operations.verbs.groups import lag
from kwire_admin.operations.verbs.groups.reset_offsets import reset_offsets
from kwire_admin.operations.verbs.log_dirs import list_ as list_log_dirs
from kwire_admin.operations.verbs.offsets import delete_records
from kwire_admin.operations.verbs.offsets import list_ as list_offsets
from kwire_admin.operations.verbs.topics import list_ as list_topics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PARTITIONS = 6
END, COMMITTED = 100, 40
DEAD = 3


class Scene:
    """A topic whose partitions have one replica each, two groups, and a dead broker that the metadata still lists.

    Args:
        cluster: the cluster.
        seed: decides on the partitions of the dead broker.
    """

    def __init__(self, cluster: FakeCluster, seed: int) -> None:
        choose = random.Random(seed)
        self.cluster = cluster
        self.leaders = [choose.choice([1, 2, DEAD]) for _ in range(PARTITIONS)]
        self.lost = {index for index, leader in enumerate(self.leaders) if leader == DEAD}
        cluster.create_topic("orders", assignment=[[leader] for leader in self.leaders])
        cluster.set_ends("orders", dict.fromkeys(range(PARTITIONS), END))
        cluster.create_topic("__consumer_offsets", assignment=[[1]], internal=True)
        cluster.set_groups({group: {"orders": dict.fromkeys(range(PARTITIONS), COMMITTED)} for group in ("a", "b")})


@asynccontextmanager
async def client(cluster: FakeCluster) -> AsyncIterator[AdminClient]:
    """Return a client that has learned of the cluster before the broker dies, and whose clock does not wait."""
    async with await AdminClient.open(cluster.endpoint(1), timeout=30) as admin:
        await admin.list_groups()
        cluster.stop_broker(DEAD, fence=False)
        ticks = iter(range(0, 10**6, 4))
        admin.router.metadata.clock = lambda: float(next(ticks))
        yield admin


@pytest.fixture(params=range(6))
def scene(request: pytest.FixtureRequest) -> Any:
    with FakeCluster(brokers=3) as cluster:
        yield Scene(cluster, request.param)


def split(rows: list[Any]) -> tuple[list[Any], dict[str, AdminError]]:
    """Return the rows of known partitions, and the errors of the others."""
    return [row for row in rows if not isinstance(row, Failure)], {
        row.name: row.error for row in rows if isinstance(row, Failure)
    }


async def test_lag_has_what_is_known(scene: Scene) -> None:
    async with client(scene.cluster) as admin:
        lags = await admin.group_lags(["a"])
        warnings: list[str] = []
        rows = await lag(Run(admin, warn=warnings.append), groups=[], partitions=True)
        totals = await lag(Run(admin), groups=["b"], total=True)
    group = lags["a"]
    assert isinstance(group, GroupLag)
    assert [(p.end, p.lag) for p in group.partitions] == [
        (None, None) if index in scene.lost else (END, END - COMMITTED) for index in range(PARTITIONS)
    ]
    assert {p.partition for p in group.partitions if p.error is not None} == scene.lost
    assert len(rows) == 2 * PARTITIONS
    assert len([warning for warning in warnings if "its leader does not answer: " in warning]) == 2 * bool(scene.lost)
    assert [row.lag for row in totals] == [None if scene.lost else PARTITIONS * (END - COMMITTED)]


async def test_partitions_whose_replicas_are_offline_are_not_waited_for(scene: Scene) -> None:
    """The controller has fenced the broker, so there is nothing to elect. The clock of the client stands still."""
    scene.cluster.stop_broker(DEAD)
    async with await AdminClient.open(scene.cluster.endpoint(1), timeout=30) as admin:
        await admin.describe_topics(["orders"])
        now = admin.router.metadata.clock()
        admin.router.metadata.clock = lambda: now
        group = (await admin.group_lags(["a"]))["a"]
    assert isinstance(group, GroupLag)
    reasons = {p.error.text for p in group.partitions if p.error is not None}
    assert reasons == (
        {f"there is no leader, and no replica in sync to elect (offline: {DEAD})"} if scene.lost else set()
    )


async def test_offsets_of_live_leaders_are_listed(scene: Scene) -> None:
    async with client(scene.cluster) as admin:
        rows, errors = split(await list_offsets(Run(admin), partitions=["orders"]))
        raw = await admin.list_offsets({TopicPartition("orders", index): LATEST for index in range(PARTITIONS)})
    assert {row.partition for row in rows} == set(range(PARTITIONS)) - scene.lost
    assert errors.keys() == {f"orders-{index}" for index in scene.lost}
    assert {error.code for error in errors.values()} <= {ErrorCode.LEADER_NOT_AVAILABLE}
    assert all(exit_code(error) == UNREACHABLE for error in errors.values())
    assert {at.partition for at, offset in raw.items() if isinstance(offset, AdminError)} == scene.lost


@pytest.mark.parametrize("target", ["latest", "earliest", "current"])
async def test_plans_of_offsets_name_the_partitions_without_an_answer(scene: Scene, target: str) -> None:
    async with client(scene.cluster) as admin:
        rows, errors = split(await reset_offsets(Run(admin, dry_run=True), group="a", to=target))
        deletions, refused = split(await delete_records(Run(admin, dry_run=True), partitions=["orders"], before="10"))
    assert errors.keys() == refused.keys() == {f"orders-{index}" for index in scene.lost}
    known = set(range(PARTITIONS)) - scene.lost
    assert {row.partition for row in rows} == {row.partition for row in deletions} == known


async def test_groups_of_live_coordinators_are_described() -> None:
    """Each group has another coordinator. A client that knows them asks one that is dead by now."""
    groups = [f"group-{number}" for number in range(8)]
    with FakeCluster(brokers=3) as cluster:
        cluster.create_topic("__consumer_offsets", assignment=[[1], [2], [3]], internal=True)
        cluster.set_groups({group: {} for group in groups})
        dead = {group for group in groups if partition_of(group, 3) == DEAD - 1}
        async with client(cluster) as admin:
            offsets = await admin.list_group_offsets(groups)
            _, errors = split(await describe_groups(Run(admin), groups=groups))
    assert dead
    assert {group for group, answer in offsets.items() if isinstance(answer, AdminError)} == dead
    assert errors.keys() == dead
    assert all(error.code == ErrorCode.COORDINATOR_NOT_AVAILABLE for error in errors.values())


@pytest.mark.parametrize(
    ("verb", "arguments", "what"),
    [
        (list_log_dirs, {}, "log directories"),
        (list_log_dirs, {"broker": [1, DEAD]}, "log directories"),
        (describe_features, {}, "features"),
        (api_versions, {"brokers": []}, "API versions"),
        (api_versions, {"brokers": [DEAD, 2]}, "API versions"),
    ],
)
async def test_answers_of_live_brokers_are_shown(verb: Any, arguments: dict[str, Any], what: str) -> None:
    with FakeCluster(brokers=3, topics=["orders"], kraft=True) as cluster:
        async with client(cluster) as admin:
            warnings: list[str] = []
            rows = await verb(Run(admin, warn=warnings.append), **arguments)
    named = {*arguments.get("brokers", ()), *arguments.get("broker", ())} or {1, 2, 3}
    assert {row.broker for row in rows} == named - {DEAD}
    assert [warning.split(":")[0] for warning in warnings] == [f"the {what} of broker {DEAD} are not known"]


@pytest.mark.parametrize("verb", [list_brokers, list_topics])
async def test_permissions_are_asked_of_a_live_broker(verb: Any) -> None:
    """The client asks the dead broker first, because the others have failed meanwhile."""
    with FakeCluster(brokers=3) as cluster:
        async with client(cluster) as admin:
            for broker in (1, 2):
                admin.router.put_last(Endpoint.parse(cluster.endpoint(broker)))
            rows = await verb(Run(admin))
    assert len(rows) == (3 if verb is list_brokers else 0)
