"""Send requests to a suitable broker of one cluster, and send them again where that is harmless.

A target names the broker that a request needs: any, the controller, one broker, or the coordinator of a group. The
router finds that broker, obeys throttle times, and retries with exponential backoff and jitter until the timeout.

A request that only reads is repeated after any failure, and a command only where that is harmless: see the states in
`kwire.client.admin.attempt`.

The first contact is different. A broker of a cluster that has answered before may be restarting, so the router waits
for it. Bootstrap servers are probably wrong if no broker has ever answered: if all of them fail without a timeout
(refused connection, unknown host, TLS, SASL, or a peer that does not speak Kafka's protocol), there is no second round.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from kwire.client.admin.attempt import Attempt
from kwire.client.admin.errors import BrokerNotFound, ControllerNotFound
from kwire.client.admin.metadata_cache import CLUSTER_REQUESTS, ClientMetadata
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectFailed, ConnectionFault, NoCommonVersion, Timeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.values import BrokerAddress, ClusterDescription
    from kwire.client.connection import Connection
    from kwire.client.connection_pool import ConnectionPool
    from kwire.declare import Message, Request
    from kwire.protocol.negotiated_versions import Dialect

R = TypeVar("R", bound="Message")
T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two tries: exponential backoff with jitter. Kafka's clients wait for 0.1 to 1.0 (KIP-580)."""

SILENT_SHARE = 1 / 3
"""Part of the timeout that one of several brokers may take to describe the cluster. A silent broker, which neither
refuses nor answers, leaves time for others. Chosen, not measured."""
NOTICE_AFTER_S = 1.0
"""Seconds after which a wait is reported. A second is the limit up to which people take a delay for normal."""


class SentCommand:
    """A command that was sent, or is about to be.

    Attributes:
        request: the name of the request message.
        answered: True once its response has arrived.
    """

    __slots__ = ("answered", "request")

    def __init__(self, request: str) -> None:
        self.request = request
        self.answered = False


class Target(Protocol):
    """The broker that a request needs.

    Attributes:
        is_single: True to give up when the broker cannot be reached, because another one may be responsible then.
    """

    @property
    def is_single(self) -> bool: ...

    async def locate(self, router: ClusterRouter, failures: dict[str, str]) -> Endpoint | None:
        """Return the broker, or None if no broker knows it at the moment.

        Args:
            failures: receives, by broker, why it did not name the target.
        """

    def forget(self, router: ClusterRouter, endpoint: Endpoint) -> None:
        """Discard what is known about the target: `endpoint` failed or is not responsible any more."""

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        """Return the error for a target that was not found in time."""


class AnyBroker:
    """Any broker. Brokers that failed are tried last."""

    is_single = False

    async def locate(self, router: ClusterRouter, failures: dict[str, str]) -> Endpoint:
        del failures
        return router.known_brokers()[0]

    def forget(self, router: ClusterRouter, endpoint: Endpoint) -> None:
        router.put_last(endpoint)

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        return ControllerNotFound(seconds, failures)


class ControllerTarget:
    """The controller of the cluster."""

    is_single = False

    async def locate(self, router: ClusterRouter, failures: dict[str, str]) -> Endpoint | None:
        controller = router.metadata.controller or await router.look_up_controller(failures)
        return None if controller is None else Endpoint(controller.host, controller.port)

    def forget(self, router: ClusterRouter, endpoint: Endpoint) -> None:
        router.put_last(endpoint)
        router.metadata.controller = None

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        return ControllerNotFound(seconds, failures)


class BrokerTarget(NamedTuple):
    """One broker, by its id. A broker that was listed before and is not any more may be restarting."""

    id: int
    is_single: bool = False

    async def locate(self, router: ClusterRouter, failures: dict[str, str]) -> Endpoint | None:
        del failures
        cache = router.metadata
        if self.id not in cache.brokers:
            await router.describe_cluster()
        if self.id not in (cache.brokers if self.is_single else cache.listed_ids):
            raise BrokerNotFound(self.id)
        return cache.brokers.get(self.id)

    def forget(self, router: ClusterRouter, endpoint: Endpoint) -> None:
        router.put_last(endpoint)
        router.metadata.forget_broker(self.id)

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        del seconds, failures
        return BrokerNotFound(self.id)


ANY = AnyBroker()
CONTROLLER = ControllerTarget()


class ClusterRouter:
    """Finds the brokers of one cluster and sends requests to them.

    Args:
        bootstrap: addresses of some brokers.
        pool: the connections. The router closes it.
        timeout: seconds for a request with all its attempts.
        on_wait: called with a sentence about a request that has no answer after a second; None for silence.
    """

    def __init__(
        self,
        bootstrap: tuple[Endpoint, ...],
        pool: ConnectionPool,
        timeout: float,
        on_wait: Callable[[str], None] | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._connections = pool
        self.timeout = timeout
        self._on_wait = on_wait
        self.metadata = ClientMetadata()
        """Metadata of the cluster from all responses so far."""
        self.commands: list[SentCommand] = []
        """The commands since the start, for a caller that is interrupted."""
        self._failed: dict[Endpoint, int] = {}
        """Brokers by when they failed last, as a running number."""
        self._failures = 0
        self._has_reached_node = False
        """True once a node of the drafts has negotiated versions. It closes connections until it has all metadata."""
        self._not_before: dict[Endpoint, float] = {}
        """Until when a broker throttles this client, in seconds of the event loop's clock."""

    @property
    def bootstrap(self) -> tuple[Endpoint, ...]:
        """The addresses with which the client began."""
        return self._bootstrap

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    # Requests

    async def read(
        self,
        request: Request[R],
        target: Target = ANY,
        error_code: Callable[[R], int] | None = None,
        *,
        adapt: Callable[[Any, int], Request[R]] | None = None,
        highest: int | None = None,
    ) -> Answer[R]:
        """Send a request that changes nothing, and repeat it after failures until the timeout.

        Args:
            error_code: returns the error code of the whole response. Retriable codes are retried.
            adapt: returns the request as a version of the API needs it.
            highest: the highest version to send.

        Raises:
            ConnectionFault: no broker responds in time; the error of the last attempt.
            AuthenticationFailed, TlsHandshakeFailed: a broker and this client do not accept each other.
            NoCommonVersion: the cluster does not serve the request.
            ControllerNotFound: no broker names the controller in time.
            BrokerNotFound: the cluster does not list the broker.
        """
        return await self._attempt(request, target, error_code, adapt, highest, repeatable=True)

    async def command(
        self,
        request: Request[R],
        target: Target = CONTROLLER,
        error_code: Callable[[R], int] | None = None,
        *,
        repeatable: bool = False,
        adapt: Callable[[Any, int], Request[R]] | None = None,
        highest: int | None = None,
        is_recorded: bool = True,
    ) -> Answer[R]:
        """Send a request that changes something, and repeat it only where that is harmless.

        Args:
            error_code: returns the code by which a broker refuses to be responsible for the whole request.
            repeatable: True if a second execution has the same effect and the same response as the first one.
            adapt: returns the request as a version of the API needs it.
            highest: the highest version to send.
            is_recorded: True to list it in `commands`; a sender of records would fill them.

        Raises:
            OutcomeUnknown: the response was lost, so that the command may have taken effect.
            ConnectionFault: see `read`. This applies to the other errors, too.
        """
        sent = SentCommand(type(request).__name__)
        if is_recorded:
            self.commands.append(sent)
        answer = await self._attempt(request, target, error_code, adapt, highest, repeatable=repeatable)
        sent.answered = True
        return answer

    async def send(self, endpoint: Endpoint, request: Request[R], timeout: float | None = None) -> R:
        """Send a request to one broker, once.

        Args:
            timeout: seconds to connect and to wait for the response; None for the timeout of the client. The connection
                is closed afterwards: a broker answers later requests of a connection only after this one.

        Raises:
            ConnectionFault: the broker does not respond.
        """
        if timeout is None:
            return await self._request(await self._connections.get(endpoint), request)
        connection: Connection | None = None
        try:
            async with asyncio.timeout(timeout):
                connection = await self._connections.get(endpoint)
                return await self._request(connection, request)
        except ConnectionFault:
            raise
        except TimeoutError:
            fault = Timeout(endpoint, type(request).__name__, timeout, 0)
            if connection is not None:
                connection.fail(fault)
            raise fault from None

    async def cluster(self) -> ClusterDescription:
        """Return the brokers and the controller as far as they are known, without a request if possible."""
        return self.metadata.cluster() or await self.describe_cluster()

    async def describe_cluster(self) -> ClusterDescription:
        """Return what a broker reports about the cluster at this time.

        Raises:
            ConnectionFault: no broker responds in time; at once if no bootstrap server can be used.
        """
        fault: ConnectionFault | None = None
        pause = FIRST_PAUSE

        def waiting_for() -> str:
            brokers = ", ".join(map(str, self.known_brokers()))
            because = "" if fault is None else f" ({fault})"
            answered = "answers at the moment" if self.metadata.listed_ids else "has answered yet"
            return f"no broker of {brokers} {answered}{because}"

        try:
            with self._reporting(waiting_for):
                async with asyncio.timeout(self.timeout):
                    while True:
                        faults: list[ConnectionFault] = []
                        # Each round asks all known brokers, the most recently failed ones last.
                        for endpoint in self.known_brokers():
                            try:
                                return await self._describe_cluster_in_time(endpoint)
                            except ConnectionFault as error:
                                if not error.retriable:
                                    raise
                                fault = error
                                faults.append(error)
                                self.put_last(endpoint)
                        if self._is_hopeless(faults):
                            raise _most_telling(faults)
                        pause = await back_off(pause)
        except TimeoutError as error:
            raise fault or _timeout(error, self.known_brokers()[0], "the metadata request", self.timeout) from None

    def _is_hopeless(self, faults: Sequence[ConnectionFault]) -> bool:
        """Return whether another round is in vain after these faults of all known brokers: see the module."""
        may_start = self._has_reached_node or any(isinstance(fault, Timeout) for fault in faults)
        return not self.metadata.listed_ids and not may_start

    async def _describe_cluster_in_time(self, endpoint: Endpoint) -> ClusterDescription:
        """Ask one broker for the cluster, within a part of the timeout if there are others. Raises ConnectionFault."""
        seconds = self.timeout if len(self.known_brokers()) == 1 else self.timeout * SILENT_SHARE
        try:
            async with asyncio.timeout(seconds):
                return await self._describe_cluster(endpoint)
        except ConnectionFault:
            raise
        except TimeoutError:
            raise Timeout(endpoint, "the metadata request", seconds) from None

    async def dialect(self) -> Dialect:
        """Return the dialect that the brokers speak."""
        await self.describe_cluster()
        for endpoint in self.known_brokers():
            try:
                return (await self._connections.get(endpoint)).negotiated.dialect
            except ConnectionFault:
                self.put_last(endpoint)
        raise ControllerNotFound(self.timeout, {})

    # Brokers

    def known_brokers(self) -> tuple[Endpoint, ...]:
        """Return the brokers of the cluster and the bootstrap servers, the latest failures at the end."""
        endpoints = dict.fromkeys((*self.metadata.brokers.values(), *self._bootstrap))
        return tuple(sorted(endpoints, key=lambda endpoint: self._failed.get(endpoint, 0)))

    def put_last(self, endpoint: Endpoint) -> None:
        """Try all other brokers before this one."""
        self._failures += 1
        self._failed[endpoint] = self._failures

    async def look_up_controller(self, failures: dict[str, str]) -> BrokerAddress | None:
        """Ask the known brokers for the controller, and return the first that is named.

        Args:
            failures: receives, by broker, why it did not name one.
        """
        for endpoint in self.known_brokers():
            try:
                cluster = await self._describe_cluster(endpoint)
            except ConnectionFault as fault:
                failures[str(endpoint)] = fault.reason()
                continue
            if cluster.controller is not None:
                return cluster.controller
            failures[str(endpoint)] = "it knows no controller"
        return None

    async def _describe_cluster(self, endpoint: Endpoint) -> ClusterDescription:
        connection = await self._connections.get(endpoint)
        self._has_reached_node |= connection.negotiated.dialect == "kip4"
        request, description = CLUSTER_REQUESTS[connection.negotiated.dialect]
        return description(await self._request(connection, request))

    # Attempts

    async def _attempt(
        self,
        request: Request[R],
        target: Target,
        error_code: Callable[[R], int] | None,
        adapt: Callable[[Any, int], Request[R]] | None,
        highest: int | None,
        *,
        repeatable: bool,
    ) -> Answer[R]:
        """Try until `Attempt` has an answer or an error. See its module for the states."""
        attempt: Attempt[R] = Attempt(type(request).__name__, is_repeatable=repeatable, is_single=target.is_single)
        failures: dict[str, str] = {}
        pause = FIRST_PAUSE
        try:
            with self._reporting(attempt.waiting_for):
                async with asyncio.timeout(self.timeout):
                    while True:
                        endpoint = await target.locate(self, failures)
                        attempt.located(endpoint)
                        if endpoint is not None:
                            answer = await self._try(attempt, endpoint, request, error_code, adapt, highest)
                            if answer is not None:
                                return answer
                            target.forget(self, endpoint)
                        pause = await back_off(pause)
                        attempt.paused()
        except ConnectionFault as fault:
            if attempt.endpoint is not None and not isinstance(fault, NoCommonVersion):
                target.forget(self, attempt.endpoint)  # the next request finds out where the target is now
            raise
        except TimeoutError:
            return attempt.timed_out(self.timeout, lambda: target.not_found(self.timeout, failures))

    @contextmanager
    def _reporting(self, waiting_for: Callable[[], str]) -> Iterator[None]:
        """Report what a block waits for unless it ends within NOTICE_AFTER_S."""
        on_wait = self._on_wait
        if on_wait is None:
            yield
            return
        timer = asyncio.get_running_loop().call_later(NOTICE_AFTER_S, lambda: on_wait(waiting_for()))
        try:
            yield
        finally:
            timer.cancel()

    async def _try(
        self,
        attempt: Attempt[R],
        endpoint: Endpoint,
        request: Request[R],
        error_code: Callable[[R], int] | None,
        adapt: Callable[[Any, int], Request[R]] | None,
        highest: int | None,
    ) -> Answer[R] | None:
        """Send a request to a broker once, and return None if it is to be sent again."""
        try:
            connection = await self._connections.get(endpoint)
            version = connection.negotiated.version_of(type(request))
            version = version if highest is None else min(version, highest)
            message = request if adapt is None else adapt(request, version)
            await self._wait_for_throttle(endpoint)  # before `sending`: a request that waits here has no effect
            attempt.sending()
            response = await self._send(connection, message, version)
        except ConnectionFault as fault:
            attempt.failed(fault)
            return None
        code = error_code(response) if error_code is not None else 0
        return attempt.responded(response, code, connection.negotiated.dialect)

    async def highest_version(self, request: type[Message]) -> int:
        """Return the highest version of a request that the first known broker supports."""
        await self.cluster()
        return (await self._connections.get(self.known_brokers()[0])).negotiated.version_of(request)

    async def _request(self, connection: Connection, request: Request[R]) -> R:
        """Send a request in the highest version that is possible. Raises ConnectionFault."""
        await self._wait_for_throttle(connection.endpoint)
        return await self._send(connection, request, connection.negotiated.version_of(type(request)))

    async def _wait_for_throttle(self, endpoint: Endpoint) -> None:
        """Wait until a broker does not throttle this client any more (KIP-219)."""
        remaining = self._not_before.get(endpoint, 0.0) - asyncio.get_running_loop().time()
        if remaining > 0:
            await asyncio.sleep(remaining)

    async def _send(self, connection: Connection, request: Request[R], version: int) -> R:
        response: R = await connection.send(request, version=version, decoder=self.metadata.decoder(request, version))
        self.metadata.update(response)
        throttle_ms = getattr(response, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._not_before[connection.endpoint] = asyncio.get_running_loop().time() + throttle_ms / 1000
        return response


def _most_telling(faults: Sequence[ConnectionFault]) -> ConnectionFault:
    """Return the fault of a peer that was reached if there is one: it says more than a refused connection."""
    return next((fault for fault in faults if not isinstance(fault, ConnectFailed)), faults[0])


def _timeout(error: TimeoutError, endpoint: Endpoint, request: str, seconds: float) -> ConnectionFault:
    return error if isinstance(error, ConnectionFault) else Timeout(endpoint, request, seconds, 0)


async def attempt(
    send: Callable[[BrokerTarget, Sequence[T]], Awaitable[Mapping[T, Any]]], broker: BrokerTarget, items: Sequence[T]
) -> Mapping[T, Any]:
    """Send a request for items to the broker that is responsible for them, once.

    Returns:
        The result for each item; for all of them, the error if the broker cannot be reached.
    """
    try:
        return await send(broker, items)
    except ConnectionFault as fault:
        if not fault.retriable:
            raise
        return dict.fromkeys(items, fault)
    except BrokerNotFound as error:
        return dict.fromkeys(items, error)


async def back_off(pause: float) -> float:
    """Wait for about `pause` seconds and return how long to wait the next time."""
    from random import uniform  # its import takes as long as a request

    await asyncio.sleep(pause * uniform(0.5, 1.5))
    return min(2 * pause, LONGEST_PAUSE)
