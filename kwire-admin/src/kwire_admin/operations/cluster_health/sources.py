"""The sources of a health check: every broker that another one names is asked, all at the same time.

No answer is trusted alone. A broker that has lost its controller reports the metadata of before for ever, and under
KRaft the controller id of Metadata is a random live broker. So each broker is asked for three things: the brokers that
it knows, the quorum as it reaches it, and its log directories.
"""

from __future__ import annotations

from kwire._util.concurrency import gather, timeout_after
from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from kwire.client.admin import AdminError, NotSupported
from kwire.errors import KwireError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectionFault, NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from kwire.client.admin import AdminClient, ClusterDescription, QuorumDescription, RegisteredBroker

T = TypeVar("T")

SILENT_SHARE = 1 / 6
"""Part of the timeout of a request that one broker may take: the check has a few steps, and a silent broker must not
double the timeout. By default, it is 5 s. Chosen, not measured."""


class LogDirState(NamedTuple):
    """A log directory: its path, bytes of its volume and bytes left, None if not reported, and why it is offline."""

    path: str
    total: int | None
    usable: int | None
    error: AdminError | None


class AnsweringBroker(NamedTuple):
    """The answers of one broker.

    Attributes:
        id: its id; None for a bootstrap server that no broker lists.
        cluster: the live brokers and the controller that it knows.
        quorum: the quorum as it reaches it, or the reason why it does not; None without KRaft.
        log_dirs: its log directories, or the reason why they are unknown; None for a node of kwire, which has none.
    """

    id: int | None
    cluster: ClusterDescription
    quorum: QuorumDescription | Exception | None
    log_dirs: list[LogDirState] | Exception | None


class Sources(NamedTuple):
    """All answers, and the brokers that did not answer.

    Attributes:
        answers: the answers by address.
        silent: the reason by address that did not answer.
        addresses: the addresses by broker id, as any broker lists them.
        registered: the registered brokers by id; empty if the cluster does not report brokers that are not running.
    """

    answers: Mapping[Endpoint, AnsweringBroker]
    silent: Mapping[Endpoint, str]
    addresses: Mapping[int, frozenset[Endpoint]]
    registered: Mapping[int, RegisteredBroker]

    def reaches(self, broker: int) -> bool:
        """Return whether a broker answers at one of its addresses."""
        return any(address in self.answers for address in self.addresses.get(broker, ()))


async def ask_all_brokers(admin: AdminClient) -> Sources:
    """Ask the bootstrap servers, the brokers that they list, and so on, until every named broker was asked.

    Raises:
        ConnectionFault: no broker answers.
    """
    seconds = admin.router.timeout * SILENT_SHARE
    clusters: dict[Endpoint, ClusterDescription] = {}
    faults: dict[Endpoint, Exception] = {}
    while rest := [endpoint for endpoint in _named(admin, clusters) if endpoint not in clusters | faults]:
        for endpoint, answer in zip(
            rest,
            await gather(*(_cluster(admin, endpoint, seconds) for endpoint in rest)),
            strict=True,
        ):
            if isinstance(answer, Exception):
                faults[endpoint] = answer
                admin.router.put_last(endpoint)  # requests to any broker go to one that answers
            else:
                clusters[endpoint] = answer
    if not clusters:
        raise min(faults.values(), key=lambda fault: not isinstance(fault, ConnectionFault))  # it names the broker
    addresses: dict[int, set[Endpoint]] = {}
    for cluster in clusters.values():
        for broker in cluster.brokers:
            addresses.setdefault(broker.id, set()).add(Endpoint(broker.host, broker.port))
    ids = {endpoint: broker for broker, endpoints in addresses.items() for endpoint in endpoints}
    registering = in_time(_registered(admin), seconds)
    registered, *details = await gather(registering, *(_details(admin, endpoint, seconds) for endpoint in clusters))
    answers = {
        endpoint: AnsweringBroker(ids.get(endpoint), clusters[endpoint], quorum, log_dirs)
        for endpoint, (quorum, log_dirs) in zip(clusters, details, strict=True)
    }
    if isinstance(registered, Exception):
        registered = {}
    for broker_id, registration in registered.items():
        if registration.host:  # a fenced broker that no list has any more
            addresses.setdefault(broker_id, set()).add(Endpoint(registration.host, registration.port))
    return Sources(
        answers,
        {endpoint: reason_of(fault) for endpoint, fault in faults.items()},
        {broker: frozenset(endpoints) for broker, endpoints in addresses.items()},
        registered,
    )


def _named(admin: AdminClient, clusters: Mapping[Endpoint, ClusterDescription]) -> dict[Endpoint, None]:
    listed = (Endpoint(broker.host, broker.port) for cluster in clusters.values() for broker in cluster.brokers)
    return dict.fromkeys((*admin.router.known_brokers(), *admin.router.bootstrap, *listed))


async def _cluster(admin: AdminClient, endpoint: Endpoint, seconds: float) -> ClusterDescription | Exception:
    from kwire.client.admin.metadata_cache import cluster_request

    request, description = cluster_request(admin.dialect)
    try:
        return description(await admin.router.send(endpoint, request, seconds))
    except KwireError as fault:
        return fault


async def _registered(admin: AdminClient) -> Mapping[int, RegisteredBroker]:
    if admin.dialect != "kafka":
        return {}
    return await admin.registered_brokers() or {}


async def _details(admin: AdminClient, endpoint: Endpoint, seconds: float) -> tuple[Any, Any]:
    """Return the quorum and the log directories as one broker reports them."""
    if admin.dialect != "kafka":
        return None, None
    # A broker answers one request of a connection after the other, and waits for the controller to answer the quorum's.
    log_dirs = await in_time(_log_dirs(admin, endpoint, seconds), seconds)
    quorum = await in_time(admin.describe_quorum_at(endpoint, timeout=seconds), 2 * seconds)
    return (
        None if isinstance(quorum, NoCommonVersion) else quorum,
        log_dirs,
    )


async def _log_dirs(admin: AdminClient, endpoint: Endpoint, seconds: float) -> list[LogDirState]:
    """Return the log directories of a broker, without the replicas in them.

    Raises:
        AdminError: the user cannot see them.
    """
    from kwire.client.admin.answer import result_error
    from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsRequest

    response = await admin.router.send(endpoint, DescribeLogDirsRequest(topics=()), seconds)
    error = result_error(response, "log directories")
    if error is None and not response.results:  # before version 3, a refused request has no other sign
        error = AdminError.of_kafka(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "log directories", needs="Describe on the cluster"
        )
    if error is not None:
        raise error
    return [
        LogDirState(
            result.log_dir,
            None if result.total_bytes < 0 else result.total_bytes,
            None if result.usable_bytes < 0 else result.usable_bytes,
            result_error(result, result.log_dir),
        )
        for result in response.results
    ]


async def in_time(result: Awaitable[T], seconds: float) -> T | Exception:
    """Return a result, or the error of the cluster in place of it: a silent broker is an answer of a health check."""
    try:
        async with timeout_after(seconds):
            return await result
    except (KwireError, NotSupported) as error:
        return error
    except TimeoutError as error:
        return TimeoutError(f"no answer within {seconds:g} s") if not str(error) else error


def reason_of(error: Exception) -> str:
    """Return an error as a part of a sentence, without the address that its row names."""
    if isinstance(error, ConnectionFault):
        return error.reason()
    return error.reason if isinstance(error, AdminError) else str(error)
