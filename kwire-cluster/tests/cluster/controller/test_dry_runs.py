"""Dry runs in the controller: random changes are validated first, which writes nothing, and then made.

The outcomes must be equal, whatever the cluster has become by the changes before: topics without a live replica, a
reassignment in progress, marked topics.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire.messages.kip4.create_topic_v2 import TopicCreation
from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions
from kwire_cluster.config.value_types import FeatureSupport
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.controller.feature_rules import FeatureChange
from kwire_cluster.zookeeper.brokers import SupportedVersionRange
from tests.cluster.controller.admin_requests import entry
from tests.cluster.controller.clusters import SETTINGS, assignment, cluster_of, reassignment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire_cluster.controller.backend import AdminBackend
    from kwire_cluster.controller.controller import Controller
    from tests.cluster.controller.clusters import Cluster

    Change = Callable[..., Awaitable[Any]]

BROKERS = (1, 2, 3)
CLUSTER = replace(SETTINGS, supported_features={"f": FeatureSupport(1, 3), "g": FeatureSupport(1, 4, 2)})
RANGES = {"f": SupportedVersionRange(1, 3), "g": SupportedVersionRange(1, 4)}

names = st.sampled_from(["a", "a", "b", "c.d", "c_d", "nosuch", "bad/name", "", "x" * 250])
numbers = st.sampled_from([-1, -1, 0, 1, 1, 2, 3, 9, 2**31 - 1])
factors = st.sampled_from([-1, -1, 0, 1, 2, 3, 4])
assignments = st.lists(
    st.lists(st.sampled_from([1, 2, 3, 77]), min_size=0, max_size=3).map(tuple), min_size=0, max_size=3
).map(lambda replicas: assignment(*replicas))
no_assignment = st.just(())
configs = st.lists(
    st.sampled_from([entry("retention.ms", "5"), entry("retention.ms", "many"), entry("nosuch", "1")]), max_size=1
).map(tuple)
deleted = st.lists(st.sampled_from(["retention.ms", "nosuch"]), max_size=1).map(tuple)
creations = st.builds(
    TopicCreation,
    topic_name=names,
    partitions=numbers,
    replication_factor=factors,
    replica_assignment=no_assignment | assignments,
    config_entries=configs,
)
alterations = st.builds(
    TopicAlteration,
    topic_name=names,
    partitions=numbers,
    replication_factor=factors,
    replica_assignment=no_assignment | assignments,
    added_config_entries=configs,
    deleted_configs=deleted,
)
partitions = st.dictionaries(
    st.sampled_from(["p0", "p1", "p7"]), st.sampled_from([(), (1,), (2, 1), (3,), (77,), (1, 1)]), max_size=2
)
reassignments = st.builds(lambda name, replicas: reassignment(name, **replicas), names, partitions)
elections = st.builds(
    TopicPartitions, topic=names, partition_ids=st.lists(st.sampled_from([0, 1, 7]), max_size=2).map(tuple)
)
features = st.builds(
    FeatureChange, st.sampled_from(["f", "g", "nosuch", ""]), st.sampled_from([-1, 0, 1, 2, 3, 4, 9]), st.booleans()
)


def several(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, min_size=1, max_size=3)


changes: st.SearchStrategy[tuple[str, Any]] = st.one_of(
    st.tuples(st.just("create_topics"), several(creations)),
    st.tuples(st.just("create_topics"), several(creations)),
    st.tuples(st.just("alter_topics"), several(alterations)),
    st.tuples(st.just("delete_topics"), several(names)),
    st.tuples(st.just("elect_preferred_leaders"), st.lists(elections, max_size=2)),
    st.tuples(st.just("reassign_partitions"), several(reassignments)),
    st.tuples(st.just("update_features"), st.lists(features, max_size=2)),
    st.tuples(st.just("kill"), st.just(3)),
    st.tuples(st.just("start"), st.just(3)),
)


def znodes(cluster: Cluster) -> dict[str, tuple[bytes, int]]:
    """Return the data and the version of every znode."""
    tree = cluster.memory.tree
    return {path: (tree.get(path).data, tree.get(path).version) for path in tree.paths()}


async def outcome_of(change: Change) -> Any:
    """Return what a change answers: the error of each item, or of the whole request."""
    try:
        answer = await change()
    except CommandError as error:
        return error.code, error.reason
    if isinstance(answer, list):
        return [(one.topic, one.error and (one.error.code, one.error.reason)) for one in answer]
    return {name: (error.code, error.reason) for name, error in answer.errors.items()}


async def check(cluster: Cluster, name: str, argument: Any) -> None:
    controller: Controller = await cluster.wait_elected()
    await cluster.wait_idle()
    backend: AdminBackend = controller
    method = partial(getattr(backend, name), argument)
    if name == "create_topics":
        method = partial(method, "a client")
    before = znodes(cluster)
    dry = await outcome_of(partial(method, author="a user", validate_only=True))
    await cluster.wait_idle()
    assert znodes(cluster) == before, (name, argument)
    assert await outcome_of(partial(method, author="a user")) == dry, (name, argument)
    await cluster.wait_idle()


async def run(history: list[tuple[str, Any]]) -> None:
    async with cluster_of(1, settings=CLUSTER) as cluster:
        # The first broker supports no feature, and is needed only to write the first state.
        await cluster.start(2, features=RANGES)
        await cluster.kill(1)
        for name, argument in history:
            if name == "kill":
                if argument in cluster.brokers:
                    await cluster.kill(argument)
            elif name == "start":
                if argument not in cluster.brokers:
                    await cluster.start(argument, features=RANGES)
            else:
                await check(cluster, name, argument)


@settings(max_examples=60)
@given(st.lists(changes, min_size=4, max_size=10))
def test_dry_run_answers_as_the_change_and_writes_nothing(history: list[tuple[str, Any]]) -> None:
    first = [("start", 3), ("create_topics", [TopicCreation(topic_name="a", partitions=2, replication_factor=2)])]
    asyncio.run(run([*first, *history]))
