"""The problems that follow from the answers of all brokers.

A problem of a broker or of the quorum is found by comparing answers: what one broker says of itself, what the others
say of it, and what it does not say.

Other verbs ask for a missing quorum as well (`unless_no_quorum`): brokers keep requests that they pass on to a
controller until these time out, and list dead brokers as before, so the error of such a request names a broker that is
not the cause.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from kwire._util.concurrency import timeout_after
from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar
from kwire._util.readable import counted
from kwire.client.admin import AdminError, QuorumDescription, TopicDescription
from kwire.errors import KwireError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault, NoCommonVersion
from kwire_admin.operations.cluster_health.sources import SILENT_SHARE, ask_all_brokers, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence

    from kwire.client.admin import AdminClient, PartitionDescription
    from kwire.protocol.endpoint import Endpoint
    from kwire_admin.operations.cluster_health.sources import AnsweringBroker, Sources


NOT_CHECKED = "not-checked"
"""The kind of a row about something that the user cannot see. It proves nothing."""
VOTER_SILENT_MS = 5_000
"""Milliseconds since the last fetch of a voter after which it is behind. Voters fetch every 0.5 s, and elect another
leader after 2 s (`controller.quorum.fetch.timeout.ms`). Chosen, not measured."""
FULL = 0.01
"""Part of a volume below which a log directory is full. Chosen, not measured: segments of 1 GB are common."""
UNAUTHORIZED = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)


@dataclass(frozen=True, slots=True)
class HealthProblem:
    """A problem of a cluster, or something that was not checked.

    Attributes:
        problem: the problem: `no-quorum`, `no-controller`, `zookeeper-unreachable`, `quorum-unreachable`,
            `voter-behind`, `broker-unreachable`, `broker-fenced`, `bootstrap-unreachable`, `views-differ`,
            `log-dir-offline`, `log-dir-full`, `nothing-visible`, `topic-error`, `offline`, `leader-unreachable`,
            `under-min-isr`, `under-replicated`, `replication-stalled`, or `deletion-pending`. `not-checked` is not a
            problem: the details name the missing permission, or what this machine cannot reach.
        broker: the id of the broker or voter; None if a single one is not the cause.
        name: the topic; None for the whole cluster.
        partition: the partition; None for the whole topic.
        details: more about it.
    """

    problem: str
    broker: int | None
    name: str | None
    partition: int | None
    details: str


def broker_problems(sources: Sources, replicas: Mapping[int, int]) -> Iterator[HealthProblem]:
    """Yield the brokers that do not answer, and the brokers whose view differs.

    Args:
        sources: the answers.
        replicas: the number of replicas by broker id.
    """
    listed = {broker.id for answer in sources.answers.values() for broker in answer.cluster.brokers}
    for broker in sorted(listed | set(sources.registered) | set(replicas)):
        registration = sources.registered.get(broker)
        fenced = registration is not None and registration.is_fenced
        of_it = counted(replicas[broker], "replica") if replicas.get(broker) else "no visible replicas"
        if sources.reaches(broker):
            if fenced:
                yield _of_broker("broker-fenced", broker, f"it answers, and the controller has fenced it; {of_it}")
            continue
        reasons = [
            f"{address}: {sources.silent[address]}"
            for address in sorted(sources.addresses.get(broker, ()))
            if address in sources.silent
        ]
        state = "fenced" if fenced else "no broker lists it" if broker not in listed else ""
        yield _of_broker("broker-unreachable", broker, "; ".join(part for part in (*reasons, state, of_it) if part))
    of_brokers = {address for addresses in sources.addresses.values() for address in addresses}
    for address, reason in sorted(sources.silent.items()):
        if address not in of_brokers:
            yield HealthProblem("bootstrap-unreachable", None, None, None, f"{address}: {reason}")
    yield from _differing_views(sources)


def _differing_views(sources: Sources) -> Iterator[HealthProblem]:
    """Yield the brokers with another view of the live brokers than the credible one; all, if none is credible."""
    views = {answer.id: _view(answer) for answer in sources.answers.values() if answer.id is not None}
    if len(set(views.values())) > 1:
        credible = _shared_views(sources)
        for broker, view in sorted(views.items()):
            if len(credible) != 1 or view not in credible:
                yield _of_broker("views-differ", broker, f"it lists the brokers {_ids(view)}")


def _shared_views(sources: Sources) -> set[frozenset[int]]:
    """Return the views that every answering broker in them shares.

    A majority proves nothing: brokers that are cut off from the others keep their old metadata, with all brokers in it.
    """
    views = {answer.id: _view(answer) for answer in sources.answers.values() if answer.id is not None}
    return {view for view in views.values() if all(views.get(broker, view) == view for broker in view)}


def _view(answer: AnsweringBroker) -> frozenset[int]:
    return frozenset(broker.id for broker in answer.cluster.brokers)


def controller_problems(sources: Sources) -> Iterator[HealthProblem]:
    """Yield problems of the KRaft quorum, or of the controller of another cluster."""
    quorums = {address: answer for address, answer in sources.answers.items() if answer.quorum is not None}
    if not quorums:
        controllers = {answer.cluster.controller for answer in sources.answers.values()} - {None}
        if not controllers:
            yield HealthProblem("no-controller", None, None, None, "no broker names a controller")
        elif len({controller.id for controller in controllers if controller is not None}) > 1:
            named = _ids(controller.id for controller in controllers if controller is not None)
            yield HealthProblem("views-differ", None, None, None, f"brokers name different controllers: {named}")
        return
    described = [answer.quorum for answer in quorums.values() if isinstance(answer.quorum, QuorumDescription)]
    led = [quorum for quorum in described if quorum.leader >= 0]
    failures = {address: answer for address, answer in quorums.items() if isinstance(answer.quorum, Exception)}
    refused = [answer.quorum for answer in failures.values() if _is_refusal(answer.quorum)]
    if not led:
        if refused:
            yield _not_checked("the quorum of the controllers", refused[0])
        else:
            reasons = [f"{address}: {_failure(answer)}" for address, answer in sorted(failures.items())]
            yield HealthProblem("no-quorum", None, None, None, "; ".join(reasons) or "the quorum has no leader")
        return
    for address, answer in sorted(failures.items()):
        if not _is_refusal(answer.quorum):
            reason = f"{address} does not reach the leader of the quorum: {_failure(answer)}"
            yield HealthProblem("quorum-unreachable", answer.id, None, None, reason)
    # A leader that was deposed and does not know it has a lower epoch.
    yield from _voter_problems(max(led, key=lambda quorum: (quorum.leader_epoch, quorum.high_watermark)))


def _voter_problems(quorum: QuorumDescription) -> Iterator[HealthProblem]:
    """Yield the voters that do not follow the leader, by its clock alone."""
    leader = next((voter for voter in quorum.voters if voter.id == quorum.leader), None)
    now = None if leader is None else leader.last_fetch_ms
    if now is None:
        yield HealthProblem(NOT_CHECKED, None, None, None, "voters: the leader does not report their last fetches")
        return
    behind: list[str] = []
    for voter in sorted(quorum.voters, key=lambda voter: voter.id):
        fetched = voter.last_fetch_ms
        if voter.id == quorum.leader or (fetched is not None and now - fetched < VOTER_SILENT_MS):
            continue
        since = "never since the leader was elected" if fetched is None else f"{(now - fetched) / 1000:.0f} s ago"
        behind.append(f"voter {voter.id} has fetched {since}")
        yield _of_broker("voter-behind", voter.id, f"of leader {quorum.leader}: last fetch {since}")
    if 2 * len(behind) >= len(quorum.voters):
        yield HealthProblem("no-quorum", None, None, None, f"no majority follows the leader: {'; '.join(behind)}")


def log_dir_problems(sources: Sources) -> Iterator[HealthProblem]:
    """Yield the log directories that are offline or full."""
    by_id = sorted((answer.id, answer.log_dirs) for answer in sources.answers.values() if answer.id is not None)
    refused = [log_dirs for _, log_dirs in by_id if _is_refusal(log_dirs)]
    unserved = [log_dirs for _, log_dirs in by_id if isinstance(log_dirs, NoCommonVersion)]
    if refused:
        yield _not_checked("the log directories", refused[0])
    elif unserved:
        yield _not_checked("the log directories", unserved[0].reason())
    for broker, log_dirs in by_id:
        if isinstance(log_dirs, Exception) and not _is_refusal(log_dirs) and log_dirs not in unserved:
            reason = f"log directories of broker {broker}: {reason_of(log_dirs)}"
            yield _of_broker("broker-unreachable", broker, reason)
        for log_dir in log_dirs if isinstance(log_dirs, list) else ():
            if log_dir.error is not None:
                yield _of_broker("log-dir-offline", broker, f"{log_dir.path}: {reason_of(log_dir.error)}")
            elif log_dir.total and log_dir.usable is not None and log_dir.usable < FULL * log_dir.total:
                left = f"{log_dir.usable} of {log_dir.total} bytes are left"
                yield _of_broker("log-dir-full", broker, f"{log_dir.path}: {left}")


def metadata_sources(sources: Sources) -> list[Endpoint]:
    """Return the answering brokers, the most credible one first.

    It reaches the quorum, all brokers of its view share it, as do most brokers, and it is the controller itself.
    """
    views = Counter(_view(answer) for answer in sources.answers.values())
    shared = _shared_views(sources)

    def credibility(address: Endpoint) -> tuple[bool, bool, int, bool]:
        answer = sources.answers[address]
        controller = answer.cluster.controller
        is_controller = controller is not None and controller.id == answer.id
        view = _view(answer)
        return isinstance(answer.quorum, QuorumDescription), view in shared, views[view], is_controller

    return sorted(sources.answers, key=credibility, reverse=True)


def partition_problems(
    sources: Sources,
    topics: Mapping[str, TopicDescription | AdminError],
    adding: Mapping[tuple[str, int], Collection[int]],
    min_isrs: Mapping[str, int],
) -> Iterator[HealthProblem]:
    """Yield the partitions that some or all clients cannot use, or that may lose data.

    Args:
        sources: the answers.
        adding: by partition, the replicas that a reassignment adds, which need not be in sync yet.
        min_isrs: `min.insync.replicas` of topics, as far as it is known.
    """
    for name, topic in sorted(topics.items()):
        if isinstance(topic, AdminError):
            yield HealthProblem("topic-error", None, name, None, topic.reason)
            continue
        for partition in topic.partitions:
            missing = missing_replicas(name, partition, adding)
            minimum = min_isrs.get(name, 1)
            if partition.leader is None:
                problem, details = "offline", f"replicas {_ids(partition.replicas)}"
            elif not sources.reaches(partition.leader):
                problem, details = "leader-unreachable", f"broker {partition.leader} does not answer"
            elif len(partition.isr) < minimum and missing:
                problem = "under-min-isr"
                details = f"not in sync: {_ids(missing)}; in sync: {len(partition.isr)} of at least {minimum}"
            elif missing:
                problem, details = "under-replicated", f"not in sync: {_ids(missing)}"
            else:
                continue
            yield HealthProblem(problem, partition.leader, name, partition.partition, details)


def missing_replicas(
    topic: str, partition: PartitionDescription, adding: Mapping[tuple[str, int], Collection[int]]
) -> list[int]:
    """Return the replicas that are not in sync and should be."""
    expected = set(partition.replicas) - set(adding.get((topic, partition.partition), ()))
    return sorted(expected - set(partition.isr))


def _is_refusal(answer: object) -> bool:
    return isinstance(answer, AdminError) and answer.code in UNAUTHORIZED


def _failure(answer: AnsweringBroker) -> str:
    return reason_of(answer.quorum) if isinstance(answer.quorum, Exception) else ""


def _not_checked(what: str, error: object) -> HealthProblem:
    text = error.reason if isinstance(error, AdminError) else str(error)
    return HealthProblem(NOT_CHECKED, None, None, None, f"{what}: {text}")


def _of_broker(problem: str, broker: int, details: str) -> HealthProblem:
    return HealthProblem(problem, broker, None, None, details)


def _ids(brokers: Collection[int] | Sequence[int] | Iterator[int]) -> str:
    return ", ".join(map(str, sorted(brokers))) or "none"


T = TypeVar("T")


class NoQuorum(KwireError, RuntimeError):
    """No broker reaches a leader of the controller quorum; `details` has the reasons by broker."""

    def __init__(self, details: str) -> None:
        super().__init__(details)
        self.details = details

    def __str__(self) -> str:
        return f"the controller quorum has no leader ({self.details}): start a majority of its voters"


async def unless_no_quorum(
    admin: AdminClient, ask: Callable[[], Coroutine[Any, Any, T]], *, is_short: bool = False
) -> T:
    """Return an answer of a cluster.

    Args:
        ask: reads the answer, and changes nothing.
        is_short: True for a single request: if it is late, it is repeated after the question about the quorum. It is
            not waited for meanwhile, because a broker answers nothing else on its connection.

    Raises:
        NoQuorum: the answer is late or failed, and no broker reaches a leader of the quorum.
    """
    seconds = admin.router.timeout * SILENT_SHARE
    try:
        if is_short:
            with suppress(TimeoutError):
                async with timeout_after(seconds):
                    return await ask()
            await _check(admin)
        return await ask()
    except NoQuorum:
        raise
    except KwireError as error:
        if not isinstance(error, AdminError) or error.code not in UNAUTHORIZED:
            await _check(admin)
        raise


async def _check(admin: AdminClient) -> None:
    """Raise NoQuorum if no broker reaches a leader of the quorum."""
    if admin.dialect != "kafka":
        return
    for _ in range(2):  # a connection with a request that waits for the controller is closed by the first question
        with suppress(ConnectionFault):  # no broker answers, and the error of the request says that
            for problem in controller_problems(await ask_all_brokers(admin)):
                if problem.problem == "no-quorum":
                    raise NoQuorum(problem.details)
            return
