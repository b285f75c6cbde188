"""What the tests of faults ask of a cluster, and what must be true of it whatever happened meanwhile.

Rules of this file: each run has topics of its own, so that one cluster serves many. A change is acknowledged when the
client was told so, and then it must be there; when the client was not, a topic must have all of it or nothing.
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin import AdminError, NewTopic, TopicChange
from kwire.messages.kip4.error_codes import ErrorCode
from tests.cluster.checking import PATIENCE, sound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.client.admin import BlockingAdminClient
    from kwire.client.admin.values import Outcomes
    from kwire.testing.local_cluster import LocalCluster
    from tests.cluster.checking import Story


SESSION_SECONDS = 2.0
"""Of the nodes: long enough that a busy machine ends no session by itself, short enough that an end is soon noticed."""


@dataclass
class Runs:
    runs: int = 0
    lost: int = 0


TALLY: dict[str, Runs] = defaultdict(Runs)
"""By fault: how often it happened, and how many acknowledged changes were lost by it. Printed when all is done."""

_numbers = itertools.count()


class Topics(NamedTuple):
    """A run's topics: two that are there, one that is to go, two that are to come."""

    old: str
    other: str
    doomed: str
    first: str
    second: str


OLD = {0: (1, 2), 1: (2, 3), 2: (3, 1)}
OTHER = {0: (1, 2, 3), 1: (2, 3, 1)}
DOOMED = {0: (1, 2), 1: (3, 1)}
COME = {0: (3, 1), 1: (1, 2), 2: (2, 3)}
OLD_ALTERED = {0: (3, 2), 1: (2, 3), 2: (3, 1), 3: (2, 1)}
OLD_MOVED = {0: (2, 3), 1: (1, 3), 2: (3, 1)}
OTHER_MOVED = {0: (3, 2), 1: (2, 3, 1)}


def prepared(admin: BlockingAdminClient) -> Topics:
    run = next(_numbers)
    topics = Topics(*(f"{name}-{run}" for name in Topics._fields))
    made = {
        topics.old: NewTopic(assignment=OLD, configs={"retention.ms": "1000"}),
        topics.other: NewTopic(assignment=OTHER),
        topics.doomed: NewTopic(assignment=DOOMED),
    }
    admin.create_topics(made).raise_first()
    admin.wait_until_created(list(made))
    return topics


class Scenario(NamedTuple):
    """``ask`` the client for something; ``done(story, topics)``: by topic, whether all of it is there, or False for
    nothing of it; ``again``: the code that a second attempt is answered with when the first one had effect.
    """

    ask: Callable[[BlockingAdminClient, Topics], Outcomes]
    done: Callable[[Story, Topics], Mapping[str, bool]]
    again: ErrorCode


def create(admin: BlockingAdminClient, topics: Topics) -> Outcomes:
    new = NewTopic(assignment=COME, configs={"retention.ms": "5000"})
    return admin.create_topics({topics.first: new, topics.second: new})


def created(story: Story, topics: Topics) -> Mapping[str, bool]:
    return {
        name: either(replicas_and_settings(story, name), (COME, {"retention.ms": "5000"}), None)
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


def altered(story: Story, topics: Topics) -> Mapping[str, bool]:
    old = replicas_and_settings(story, topics.old)
    grown = replicas_and_settings(story, topics.doomed)
    assert grown is not None
    return {
        topics.old: either(old, (OLD_ALTERED, {"retention.ms": "7"}), (OLD, {"retention.ms": "1000"})),
        topics.doomed: either(len(grown[0]), 4, 2),
    }


def reassign(admin: BlockingAdminClient, topics: Topics) -> Outcomes:
    return admin.reassign_partitions(
        {topics.old: {0: OLD_MOVED[0], 1: OLD_MOVED[1]}, topics.other: {0: OTHER_MOVED[0]}}
    )


def reassigned(story: Story, topics: Topics) -> Mapping[str, bool]:
    """By topic: who asks again while the killed node is away is refused the moves to it, and not the others."""
    old, other = (replicas_and_settings(story, name) for name in (topics.old, topics.other))
    settings = {"retention.ms": "1000"}
    return {
        topics.old: either(old, (OLD_MOVED, settings), (OLD, settings)),
        topics.other: either(other, (OTHER_MOVED, {}), (OTHER, {})),
    }


def delete(admin: BlockingAdminClient, topics: Topics) -> Outcomes:
    return admin.delete_topics([topics.old, topics.doomed])


def deleted(story: Story, topics: Topics) -> Mapping[str, bool]:
    return {name: name not in story["topics"] for name in (topics.old, topics.doomed)}


SCENARIOS = {
    "create": Scenario(create, created, ErrorCode.TOPIC_ALREADY_EXISTS),
    "alter": Scenario(alter, altered, ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS),
    "reassign": Scenario(reassign, reassigned, ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS),
    "delete": Scenario(delete, deleted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
}


def replicas_and_settings(story: Story, name: str) -> tuple[dict[int, tuple[int, ...]], dict[str, str]] | None:
    if name not in story["topics"]:
        return None
    settings, partitions = story["topics"][name]
    return {index: replicas for index, (replicas, _, _) in sorted(partitions.items())}, settings


def either(now: object, after: object, before: object) -> bool:
    assert now in (after, before), f"half made: {now} is neither {after} nor {before}"
    return bool(now == after)


def checked(fault: str, cluster: LocalCluster, scenario: Scenario, topics: Topics, outcomes: Outcomes | None) -> None:
    """Wait until the cluster is sound; all that was acknowledged is there, and nothing is half made."""
    tally = TALLY[fault]
    tally.runs += 1
    story = sound(cluster)
    done = scenario.done(story, topics)
    for topic, error in (outcomes or {}).items():
        acknowledged = error is None or (error.code == scenario.again and error.attempts > 1)
        if acknowledged and not done[topic]:
            tally.lost += 1
            raise AssertionError(f"{topic}: acknowledged ({error}), and not there")
        assert acknowledged or isinstance(error, AdminError)


def controller_of(admin: BlockingAdminClient) -> int:
    """Waited for: it may just have gone."""
    deadline = time.monotonic() + 20
    while (controller := admin.describe_cluster().controller) is None:
        assert time.monotonic() < deadline, "there is no controller"
        time.sleep(0.05)
    return controller.id


def goes_on(cluster: LocalCluster, admin: BlockingAdminClient) -> None:
    """The cluster does new work, and all know of it.

    A node whose session ends only now, since it was slow to find ZooKeeper again, is away for a moment: until it is
    back, a topic with replicas on all nodes is refused. An attempt whose answer was lost may have had effect.
    """
    name = f"afterwards-{next(_numbers)}"
    new = NewTopic(partitions=2, replication_factor=len(cluster.nodes))
    deadline = time.monotonic() + PATIENCE
    while not taken(admin.create_topics({name: new})[name], ErrorCode.TOPIC_ALREADY_EXISTS):
        assert time.monotonic() < deadline, "not all nodes came back"
        time.sleep(0.1)
    admin.wait_until_created({name: 2})
    assert taken(admin.delete_topics([name])[name], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    admin.wait_until_deleted([name])


def taken(error: AdminError | None, again: ErrorCode) -> bool:
    """Whether work was taken on; False when there were too few nodes for it. Raises what is neither."""
    if error is None or (error.code == again and error.attempts > 1):
        return True
    if error.code == ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR:
        return False
    raise error
