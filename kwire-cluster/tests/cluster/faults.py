"""The changes that fault tests request from a cluster, and what must hold afterwards.

Each run uses its own topics, so that one cluster serves many runs. A change that the client received an acknowledgment
for must exist. Without an acknowledgment, a topic has the complete change or nothing of it.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin import AdminError, NewTopic, OutcomeUnknown, TopicChange
from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.config.audit import AUDIT, AuditEntry
from tests.cluster.audit_replay import AuditedTopic, check_replay
from tests.cluster.consistency import CONSISTENT_SECONDS, wait_consistent, zookeeper
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.client.admin import BlockingAdminClient
    from kwire.client.admin.values import Outcomes
    from kwire_cluster.local.local_cluster import LocalCluster
    from tests.cluster.consistency import ClusterState


SESSION_SECONDS = 2.0
"""Session timeout of the nodes: long enough for a busy machine, and short enough to notice a death soon."""


@dataclass
class Runs:
    """Counters of one fault."""

    runs: int = 0
    lost: int = 0
    """Acknowledged changes that were lost."""


TALLY: dict[str, Runs] = defaultdict(Runs)
"""The counters of each fault, printed at the end."""

_numbers = itertools.count()


class Topics(NamedTuple):
    """The topics of a run: `first` and `second` do not exist yet."""

    old: str
    other: str
    doomed: str
    first: str
    second: str


OLD = {0: (1, 2), 1: (2, 3), 2: (3, 1)}
OTHER = {0: (1, 2, 3), 1: (2, 3, 1)}
DOOMED = {0: (1, 2), 1: (3, 1)}
CREATED = {0: (3, 1), 1: (1, 2), 2: (2, 3)}
OLD_ALTERED = {0: (3, 2), 1: (2, 3), 2: (3, 1), 3: (2, 1)}
OLD_MOVED = {0: (2, 3), 1: (1, 3), 2: (3, 1)}
OTHER_MOVED = {0: (3, 2), 1: (2, 3, 1)}


def create_topics(admin: BlockingAdminClient) -> Topics:
    """Create the topics of a run."""
    run = next(_numbers)
    topics = Topics(*(f"{name}-{run}" for name in Topics._fields))
    new_topics = {
        topics.old: NewTopic(assignment=OLD, configs={"retention.ms": "1000"}),
        topics.other: NewTopic(assignment=OTHER),
        topics.doomed: NewTopic(assignment=DOOMED),
    }
    create(admin, new_topics)
    admin.wait_until_created(list(new_topics))
    return topics


def create(admin: BlockingAdminClient, new_topics: Mapping[str, NewTopic]) -> None:
    """Create topics as soon as the cluster accepts them: a node that stood still has lost its session for a moment."""

    def is_complete() -> bool:
        return {error.code for error in admin.create_topics(new_topics).errors.values()} <= {
            ErrorCode.TOPIC_ALREADY_EXISTS
        }

    eventually_sync(is_complete, f"the topics {', '.join(new_topics)} exist")


class Scenario(NamedTuple):
    """A change that a test requests."""

    request: Callable[[BlockingAdminClient, Topics], Outcomes]
    is_done: Callable[[ClusterState, Topics], Mapping[str, bool]]
    """Returns whether each topic has the complete change, or fails if it has a part of it."""
    code_of_repetition: ErrorCode
    """The error code of a second attempt after a successful one."""


def create_two(admin: BlockingAdminClient, topics: Topics) -> Outcomes:
    new = NewTopic(assignment=CREATED, configs={"retention.ms": "5000"})
    return admin.create_topics({topics.first: new, topics.second: new})


def created(state: ClusterState, topics: Topics) -> Mapping[str, bool]:
    return {
        name: is_changed(replicas_and_configs(state, name), (CREATED, {"retention.ms": "5000"}), None)
        for name in (topics.first, topics.second)
    }


def alter(admin: BlockingAdminClient, topics: Topics) -> Outcomes:
    moved = {index: replicas for index, replicas in OLD_ALTERED.items() if OLD.get(index) != replicas}
    return admin.alter_topics(
        {
            topics.old: TopicChange(assignment=moved, set_configs={"retention.ms": "7"}),
            topics.doomed: TopicChange(partitions=4),
        }
    )


def altered(state: ClusterState, topics: Topics) -> Mapping[str, bool]:
    old = replicas_and_configs(state, topics.old)
    grown = replicas_and_configs(state, topics.doomed)
    assert grown is not None
    return {
        topics.old: is_changed(old, (OLD_ALTERED, {"retention.ms": "7"}), (OLD, {"retention.ms": "1000"})),
        topics.doomed: is_changed(len(grown[0]), 4, 2),
    }


def reassign(admin: BlockingAdminClient, topics: Topics) -> Outcomes:
    return admin.reassign_partitions(
        {topics.old: {0: OLD_MOVED[0], 1: OLD_MOVED[1]}, topics.other: {0: OTHER_MOVED[0]}}
    )


def reassigned(state: ClusterState, topics: Topics) -> Mapping[str, bool]:
    """While the killed node is away, a second attempt fails only for the topic that moves to it."""
    old, other = (replicas_and_configs(state, name) for name in (topics.old, topics.other))
    configs = {"retention.ms": "1000"}
    return {
        topics.old: is_changed(old, (OLD_MOVED, configs), (OLD, configs)),
        topics.other: is_changed(other, (OTHER_MOVED, {}), (OTHER, {})),
    }


def delete(admin: BlockingAdminClient, topics: Topics) -> Outcomes:
    return admin.delete_topics([topics.old, topics.doomed])


def deleted(state: ClusterState, topics: Topics) -> Mapping[str, bool]:
    return {name: name not in state["topics"] for name in (topics.old, topics.doomed)}


SCENARIOS = {
    "create": Scenario(create_two, created, ErrorCode.TOPIC_ALREADY_EXISTS),
    "alter": Scenario(alter, altered, ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS),
    "reassign": Scenario(reassign, reassigned, ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS),
    "delete": Scenario(delete, deleted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
}


def replicas_and_configs(state: ClusterState, name: str) -> tuple[dict[int, tuple[int, ...]], dict[str, str]] | None:
    if name not in state["topics"]:
        return None
    configs, partitions = state["topics"][name]
    return {index: replicas for index, (replicas, _, _) in sorted(partitions.items())}, configs


def is_changed(now: object, after: object, before: object) -> bool:
    """Return whether a change is complete, and fail if it is partial."""
    assert now in (after, before), f"incomplete change: {now} is neither {after} nor {before}"
    return bool(now == after)


class Responses(NamedTuple):
    """The outcomes of a change, and whether it was requested again after a lost response."""

    outcomes: Outcomes
    repeated: bool


def request(scenario: Scenario, admin: BlockingAdminClient, topics: Topics) -> Responses:
    """Request a change, and request it again whenever its response is lost."""
    repeated = False
    while True:
        try:
            return Responses(scenario.request(admin, topics), repeated)
        except OutcomeUnknown:
            repeated = True


def request_during(
    fault: Callable[[], object], delay: float, scenario: Scenario, admin: BlockingAdminClient, topics: Topics
) -> Responses:
    """Request a change, and inject a fault `delay` seconds later. The fault has ended when this returns."""

    def inject() -> None:
        time.sleep(delay)
        fault()

    with ThreadPoolExecutor() as pool:
        injecting = pool.submit(inject)
        responses = request(scenario, admin, topics)
        injecting.result()
    return responses


def check(fault: str, cluster: LocalCluster, scenario: Scenario, topics: Topics, responses: Responses | None) -> None:
    """Wait until the cluster is consistent, and check that acknowledged changes exist and no change is partial."""
    tally = TALLY[fault]
    tally.runs += 1
    state = wait_consistent(cluster)
    check_audit(cluster, state, topics)
    done = scenario.is_done(state, topics)
    for topic, error in responses.outcomes.items() if responses is not None else ():
        repetition = responses is not None and responses.repeated
        acknowledged = error is None or (repetition and error.code == scenario.code_of_repetition)
        if acknowledged and not done[topic]:
            tally.lost += 1
            raise AssertionError(f"{topic}: acknowledged ({error}), but lost")
        assert acknowledged or isinstance(error, AdminError)


def check_audit(cluster: LocalCluster, state: ClusterState, topics: Topics) -> None:
    """Check that the audit has exactly the changes of the topics of a run, each with the author of the requests."""
    with zookeeper(cluster) as client:
        paths = [f"{AUDIT}/{name}" for name in client.get_children(AUDIT)]
        entries = [AuditEntry.decode(client.get(path)[0], path) for path in sorted(paths, key=lambda path: path[-10:])]
    entries = [entry for entry in entries if entry.entity.removeprefix("topics/") in topics]
    assert all("127.0.0.1:" in entry.author for entry in entries), entries
    existing = {name: replicas_and_configs(state, name) for name in topics}
    check_replay(entries, {name: AuditedTopic(*topic) for name, topic in existing.items() if topic is not None})


def controller_id(admin: BlockingAdminClient) -> int:
    """Wait until there is a controller, and return its id."""
    controller = eventually_sync(lambda: admin.describe_cluster().controller, "there is a controller")
    assert controller is not None
    return controller.id


def check_new_work(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """Create and delete a topic with a replica on every node.

    A node that found ZooKeeper too late loses its session and is unavailable for a moment. Until it is back, the topic
    is rejected. An attempt without a response may have succeeded.
    """
    name = f"afterwards-{next(_numbers)}"
    new = NewTopic(partitions=2, replication_factor=len(cluster.nodes))
    creation = Scenario(lambda admin, _: admin.create_topics({name: new}), created, ErrorCode.TOPIC_ALREADY_EXISTS)
    deletion = Scenario(lambda admin, _: admin.delete_topics([name]), deleted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    eventually_sync(lambda: is_accepted(name, creation, admin), "all nodes are back", within=CONSISTENT_SECONDS)
    admin.wait_until_created({name: 2})
    assert is_accepted(name, deletion, admin)
    admin.wait_until_deleted([name])


def is_accepted(name: str, scenario: Scenario, admin: BlockingAdminClient) -> bool:
    """Return whether a request was accepted, False if too few nodes are alive for it; raise any other error."""
    outcomes, repeated = request(scenario, admin, Topics(name, name, name, name, name))
    error = outcomes[name]
    if error is None or (repeated and error.code == scenario.code_of_repetition):
        return True
    if error.code == ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR:
        return False
    raise error
