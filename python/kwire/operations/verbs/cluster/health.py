"""`kafka cluster health`."""

from __future__ import annotations

from dataclasses import dataclass

from kwire.client.admin import AdminError
from kwire.operations.declaration import Rows, Unhealthy, operation
from kwire.operations.run import Run
from kwire.operations.verbs.visibility import explain_if_hidden


@dataclass(frozen=True, slots=True)
class HealthProblem:
    """A problem of a cluster.

    Attributes:
        problem: the problem: `nothing-visible`, `no-controller`, `topic-error`, `offline`, `under-replicated`, or
            `deletion-pending`.
        name: the topic; None for the whole cluster.
        partition: the partition; None for the whole topic.
        details: more about it.
    """

    problem: str
    name: str | None
    partition: int | None
    details: str


@operation(nothing="The cluster has no problems.", examples=("cluster health", "cluster health --output json"))
async def health(run: Run) -> Rows[HealthProblem]:
    """Check for partitions that are offline or under-replicated, and for a controller.

    Only topics that the user may describe are checked. If there is an authorizer and no topic is visible, that is a
    problem as well. So is, on clusters of the KIP-4 drafts, a topic with a deletion that waits for a broker.
    """
    problems: list[HealthProblem] = []
    cluster = await run.admin.describe_cluster()
    if cluster.controller is None:
        problems.append(HealthProblem("no-controller", None, None, "no broker is the controller"))
    topics = await run.admin.describe_topics()
    if (reason := await explain_if_hidden(run, len(topics), "topics")) is not None:
        problems.append(HealthProblem("nothing-visible", None, None, reason))
    for name, topic in sorted(topics.items()):
        if isinstance(topic, AdminError):
            problems.append(HealthProblem("topic-error", name, None, topic.text))
            continue
        for partition in topic.partitions:
            missing = sorted(set(partition.replicas) - set(partition.isr))
            if partition.leader is None:
                problems.append(
                    HealthProblem("offline", name, partition.partition, f"replicas {_ids(partition.replicas)}")
                )
            elif missing:
                problems.append(
                    HealthProblem("under-replicated", name, partition.partition, f"not in sync: {_ids(missing)}")
                )
    if run.admin.dialect == "kip4" and cluster.controller is not None:  # clusters of Kafka do not report them
        problems += [
            HealthProblem("deletion-pending", name, None, "a broker with a replica is not live")
            for name in await run.admin.list_topics_marked_for_deletion()
        ]
    if problems:
        raise Unhealthy(problems, f"the cluster has {len(problems)} problem{'s' if len(problems) > 1 else ''}")
    return []


def _ids(brokers: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, brokers))
