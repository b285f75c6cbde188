"""`kafka cluster health`."""

from __future__ import annotations

from collections import Counter

from kwire._util.concurrency import gather
from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted
from kwire.client.admin import AdminError, TopicDescription
from kwire.client.admin.topic_descriptions import describe_at
from kwire.errors import KwireError
from kwire.protocol.errors import Timeout
from kwire_admin.operations.cluster_health.checks import (
    NOT_CHECKED,
    HealthProblem,
    broker_problems,
    controller_problems,
    log_dir_problems,
    metadata_sources,
    missing_replicas,
    partition_problems,
)
from kwire_admin.operations.cluster_health.replication import replication_problems
from kwire_admin.operations.cluster_health.sources import SILENT_SHARE, Sources, ask_all_brokers, in_time, reason_of
from kwire_admin.operations.cluster_health.zookeeper_servers import zookeeper_problems
from kwire_admin.operations.declaration import Rows, Unhealthy, operation
from kwire_admin.operations.partitions import min_isrs
from kwire_admin.operations.run import Run
from kwire_admin.operations.visibility import explain_if_hidden

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin import AdminClient

    Topics = Mapping[str, TopicDescription | AdminError]


@operation(nothing="The cluster has no problems.", examples=("cluster health", "cluster health --output json"))
async def health(run: Run) -> Rows[HealthProblem]:
    """Check the controllers, every broker, log directories, and partitions.

    Every broker reports its own view, and each one reports the KRaft quorum, so that old metadata of one broker
    cannot hide an outage. Without KRaft, the check contacts the ZooKeeper servers of the brokers. Records that replicas
    in sync do not fetch show brokers that do not reach each other, whatever the metadata says. Rows with the
    problem `not-checked` name what the user cannot see; they alone do not make the check fail. Only topics that the
    user may describe are checked. If no topic is visible although there could be some, that is a problem as well.
    So is, on clusters of the KIP-4 drafts, a topic with a deletion that waits for a broker.
    """
    admin = run.admin
    sources = await ask_all_brokers(admin)
    topics = await _topics(admin, sources)
    replicas = Counter(
        replica
        for topic in topics.values()
        if isinstance(topic, TopicDescription)
        for partition in topic.partitions
        for replica in partition.replicas
    )
    problems = [
        *controller_problems(sources),
        *broker_problems(sources, replicas),
        *log_dir_problems(sources),
    ]
    seconds = admin.router.timeout * SILENT_SHARE
    hidden, marked, adding, (min_isrs, unknown), of_replication, of_zookeeper = await gather(
        in_time(explain_if_hidden(run, len(topics), "topics"), seconds),
        in_time(_marked_for_deletion(admin, sources), seconds),
        _adding(admin, topics, seconds),
        _min_isrs(admin, topics, seconds),
        replication_problems(admin, sources, topics, seconds),
        zookeeper_problems(admin, sources, seconds),
    )
    problems += of_zookeeper
    if isinstance(hidden, str):
        problems.append(HealthProblem("nothing-visible", None, None, None, hidden))
    elif hidden is not None:
        problems.append(_unknown("whether brokers list all topics", hidden))
    problems += [*unknown, *partition_problems(sources, topics, adding, min_isrs), *of_replication]
    if isinstance(marked, Exception):
        problems.append(_unknown("topics marked for deletion", marked))
    else:
        waiting = "a broker with a replica is not live"
        problems += [HealthProblem("deletion-pending", None, name, None, waiting) for name in marked]
    count = sum(problem.problem != NOT_CHECKED for problem in problems)
    if count:
        raise Unhealthy(problems, f"the cluster has {counted(count, 'problem')}")
    return [*problems]


async def _topics(admin: AdminClient, sources: Sources) -> Topics:
    """Return all topics as the most credible broker reports them.

    Raises:
        KwireError: no broker reports them.
    """
    answer: Topics | Exception | None = None
    seconds = admin.router.timeout * SILENT_SHARE
    for broker in metadata_sources(sources):
        answer = await in_time(describe_at(admin, broker, ()), seconds)
        if not isinstance(answer, Exception):
            return answer
    assert isinstance(answer, Exception), "at least one broker answers"
    raise answer if isinstance(answer, KwireError) else Timeout(broker, "MetadataRequest", seconds)


async def _marked_for_deletion(admin: AdminClient, sources: Sources) -> list[str]:
    """Return the topics whose deletion waits. Clusters of Kafka do not report them."""
    if admin.dialect != "kip4" or not any(answer.cluster.controller for answer in sources.answers.values()):
        return []
    return await admin.list_topics_marked_for_deletion()


async def _adding(admin: AdminClient, topics: Topics, seconds: float) -> dict[tuple[str, int], tuple[int, ...]]:
    """Return by partition the replicas that a reassignment adds. Without permission, they count as missing."""
    if not _shrunken(topics):
        return {}
    moves = await in_time(admin.list_reassignments(), seconds)
    if isinstance(moves, Exception):
        return {}
    return {(status.topic, index): move.adding for status in moves for index, move in status.moves.items()}


async def _min_isrs(admin: AdminClient, topics: Topics, seconds: float) -> tuple[dict[str, int], list[HealthProblem]]:
    """Return `min.insync.replicas` of the topics that lack replicas, and what is not known.

    Brokers require no more replicas than a partition has, so the config of other topics has no effect.
    """
    names = _shrunken(topics)
    if not names or admin.dialect == "kip4":
        return {}, []
    minimums = await in_time(min_isrs(admin, names), seconds)
    if isinstance(minimums, Exception):
        return {}, [_unknown("min.insync.replicas", minimums)]
    known = {name: minimum for name, minimum in minimums.items() if not isinstance(minimum, AdminError)}
    unknown = [
        HealthProblem(NOT_CHECKED, None, name, None, f"min.insync.replicas: {reason_of(minimum)}")
        for name, minimum in minimums.items()
        if isinstance(minimum, AdminError)
    ]
    return known, unknown


def _shrunken(topics: Topics) -> list[str]:
    """Return the topics with a replica that is not in sync."""
    return [
        name
        for name, topic in topics.items()
        if isinstance(topic, TopicDescription)
        and any(missing_replicas(name, partition, {}) for partition in topic.partitions)
    ]


def _unknown(what: str, error: Exception) -> HealthProblem:
    return HealthProblem(NOT_CHECKED, None, None, None, f"{what}: {reason_of(error)}")
