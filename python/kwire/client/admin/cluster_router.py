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

from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from kwire._util.concurrency import running_loop, sleep, timeout_after
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar
from kwire.client.admin.advertised_addresses import AdvertisedAddresses
from kwire.client.admin.attempt import Attempt
from kwire.client.admin.errors import BrokerNotFound, ControllerNotFound, OutcomeUnknown
from kwire.client.admin.metadata_cache import ClientMetadata, cluster_request
from kwire.client.admin.targets import ANY, CONTROLLER, BrokerTarget, SentCommand, Target
from kwire.client.admin.tries import FIRST_PAUSE, Tries, back_off
from kwire.client.race import first_success
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import (
    AuthenticationFailed,
    ConnectFailed,
    ConnectionFault,
    NoCommonVersion,
    Timeout,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.values import BrokerAddress, ClusterDescription
    from kwire.client.connection import Connection
    from kwire.client.connection_pool import ConnectionPool
    from kwire.declare import Message, Request
    from kwire.protocol.negotiated_versions import Dialect

R = TypeVar("R", bound="Message")
T = TypeVar("T")

SILENT_SHARE = 1 / 3
"""Part of the timeout for one round of questions about the cluster. Then all brokers are asked again, even brokers that
have refused. Chosen, not measured."""
NEXT_SHARE, LONGEST_NEXT_S = 0.1, 3.0
"""Part of the timeout, and seconds at most, after which a silent broker goes to the back and another one is asked too.
Requests that took long the last time get twice that time. Chosen, not measured."""
NOTICE_AFTER_S = 1.0
"""Seconds after which a wait is reported. A second is the limit up to which people take a delay for normal."""

commands_of_run: ContextVar[list[SentCommand]] = ContextVar("commands_of_run")
"""The list of the commands of one run, if runs at the same time share a client; without it, the client lists them."""


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
        self.bootstrap = bootstrap
        """The addresses with which the client began."""
        self._connections = pool
        self.timeout = timeout
        self._on_wait = on_wait
        self.metadata = ClientMetadata(_now)
        """Metadata of the cluster from all responses so far."""
        self.commands: list[SentCommand] = []
        """The commands since the start, for a caller that is interrupted."""
        self.checked_commands: set[str] = set()
        """The names of commands that a dry run has checked in place of sending them."""
        self._failed: dict[Endpoint, int] = {}
        """Brokers by when they failed last, as a running number."""
        self._failures = 0
        self._has_reached_node = False
        """True once a node of the drafts has negotiated versions. It closes connections until it has all metadata."""
        self._advertised = AdvertisedAddresses(pool, timeout)
        self._durations: dict[type[Message], float] = {}
        """Seconds that the last request of a type took."""

    @property
    def timeout_ms(self) -> int:
        """The timeout in milliseconds, for fields of Kafka's messages."""
        return int(self.timeout * 1000)

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
            commands_of_run.get(self.commands).append(sent)
        is_command = not getattr(request, "validate_only", False)  # whose lost response does not matter
        answer = await self._attempt(
            request, target, error_code, adapt, highest, repeatable=repeatable, is_command=is_command
        )
        sent.answered = True
        return answer

    async def check_command(self, request: type[Message]) -> None:
        """Check that the cluster serves a command, as a dry run does in place of sending it.

        Raises:
            NoCommonVersion: see `read`. Sending the command would raise the same error.
        """
        await self.highest_version(request)
        self.checked_commands.add(request.__name__)

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
            async with timeout_after(timeout):
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

        def waiting_for() -> str:
            brokers = ", ".join(map(str, self.known_brokers()))
            because = "" if fault is None else f" ({fault})"
            answered = "answers at the moment" if self.metadata.listed_ids else "has answered yet"
            return f"no broker of {brokers} {answered}{because}"

        async def ask_until_described() -> ClusterDescription:
            nonlocal fault
            pause = FIRST_PAUSE
            while True:
                faults: list[ConnectionFault] = []
                description = await self._ask_all_for_cluster(faults)
                if description is not None:
                    return description
                fault = faults[-1]
                if self._is_hopeless(faults):
                    raise _most_telling(faults)
                pause = await back_off(pause)

        try:
            with self._reporting(waiting_for):
                async with timeout_after(self.timeout):
                    return await ask_until_described()
        except TimeoutError as error:
            raise fault or _timeout(error, self.known_brokers()[0], "the metadata request", self.timeout) from None

    def _is_hopeless(self, faults: Sequence[ConnectionFault]) -> bool:
        """Return whether another round is in vain after these faults of all known brokers: see the module."""
        may_start = self._has_reached_node or any(isinstance(fault, Timeout) for fault in faults)
        return not self.metadata.listed_ids and not may_start

    async def _ask_all_for_cluster(self, faults: list[ConnectionFault]) -> ClusterDescription | None:
        """Ask all known brokers for the cluster, the next one when one is silent, and return the first answer.

        Args:
            faults: receives the faults if there is no answer.
        """
        brokers = self.known_brokers()
        seconds = self.timeout if len(brokers) == 1 else self.timeout * SILENT_SHARE

        async def ask(endpoint: Endpoint) -> ClusterDescription:
            try:
                return await self._describe_cluster(endpoint)
            except ConnectionFault as fault:
                faults.append(fault)
                self.put_last(endpoint)
                raise

        try:
            async with timeout_after(seconds):
                return await self._first_of(brokers, ask)
        except ConnectionFault:
            # One broker with an invalid certificate does not matter if others answer; a wrong password does.
            final = next((fault for fault in faults if not fault.retriable), None)
            if final is not None:
                raise final from None
        except TimeoutError:
            faults.append(Timeout(brokers[0], "the metadata request", seconds))
        return None

    async def _first_of(self, brokers: Sequence[Endpoint], ask: Callable[[Endpoint], Coroutine[Any, Any, T]]) -> T:
        """Ask brokers until one answers, the next one when one is silent. Raises the error of the first one."""
        return await first_success(
            [partial(ask, broker) for broker in brokers],
            self._next_after(MetadataRequest),
            is_final=lambda error: isinstance(error, AuthenticationFailed),
            on_silent=lambda number: self.put_last(brokers[number]),
        )

    def _next_after(self, request: type[Message]) -> float:
        """Return the seconds after which a broker that has not answered a request is silent."""
        usual = min(self.timeout * NEXT_SHARE, LONGEST_NEXT_S)
        return min(max(usual, 2 * self._durations.get(request, 0.0)), self.timeout / 2)

    async def dialect(self) -> Dialect:
        """Return the dialect that the brokers speak."""
        await self.describe_cluster()
        return (await self._any_connection()).negotiated.dialect

    async def _any_connection(self) -> Connection:
        """Return a connection to a broker that answers. Raises ConnectionFault."""
        return await self._first_of(self.known_brokers(), self._connections.get)

    # Brokers

    def known_brokers(self) -> tuple[Endpoint, ...]:
        """Return the brokers of the cluster and the bootstrap servers; the latest failures and throttling ones last."""
        endpoints = dict.fromkeys((*self.metadata.brokers.values(), *self.bootstrap))
        now = self.metadata.clock()
        is_throttled = {endpoint: self._connections.throttled_until(endpoint) > now for endpoint in endpoints}
        return tuple(sorted(endpoints, key=lambda endpoint: (is_throttled[endpoint], self._failed.get(endpoint, 0))))

    def put_last(self, endpoint: Endpoint) -> None:
        """Try all other brokers before this one."""
        self._failures += 1
        self._failed[endpoint] = self._failures

    async def look_up_controller(self, failures: dict[str, str]) -> BrokerAddress | None:
        """Ask the known brokers for the controller, and return the first that is named.

        Args:
            failures: receives, by broker, why it did not name one.
        """

        async def ask(endpoint: Endpoint) -> BrokerAddress:
            try:
                cluster = await self._describe_cluster(endpoint)
            except ConnectionFault as fault:
                failures[str(endpoint)] = fault.reason()
                raise
            if cluster.controller is None:
                failures[str(endpoint)] = "it knows no controller"
                raise ControllerNotFound(self.timeout, failures)
            return cluster.controller

        try:
            return await self._first_of(self.known_brokers(), ask)
        except (ConnectionFault, ControllerNotFound):
            return None

    async def _describe_cluster(self, endpoint: Endpoint) -> ClusterDescription:
        async def send(connection: Connection) -> ClusterDescription:
            self._has_reached_node |= connection.negotiated.dialect == "kip4"
            request, description = cluster_request(connection.negotiated.dialect)
            return description(await self._request(connection, request))

        return await self._connections.at(endpoint).exchange(send, "cluster")

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
        is_command: bool = False,
    ) -> Answer[R]:
        """Try until `Attempt` has an answer or an error. See its module for the states."""
        name = type(request).__name__
        attempt: Attempt[R] = Attempt(name, is_repeatable=repeatable, is_single=target.is_single, is_command=is_command)
        failures: dict[str, str] = {}

        async def send(connection: Connection) -> tuple[R, Dialect]:
            newest = connection.negotiated.version_of(type(request))
            version = newest if highest is None else min(newest, highest)
            message = request if adapt is None else adapt(request, version)
            await _wait_for_throttle(connection)  # before `sending`: a request that waits here has no effect
            attempt.sending()
            return await self._send(connection, message, version), connection.negotiated.dialect

        async def try_once(endpoint: Endpoint) -> Answer[R] | None:
            """Send the request to a broker, and return None if it is to be sent again."""
            try:
                if endpoint not in self.bootstrap:
                    await self._advertised.reach(endpoint)
                pooled = self._connections.at(endpoint)
                if repeatable:
                    response, dialect = await pooled.exchange(send, name)
                else:
                    response, dialect = await send(await pooled.get_verified())
            except ConnectionFault as fault:
                attempt.failed(fault)
                return None
            return attempt.responded(response, 0 if error_code is None else error_code(response), dialect, endpoint)

        tries = Tries(
            attempt,
            locate=lambda: self._locate(target, failures),
            forget=partial(self._forget, target),
            send=try_once,
            delay=self._next_after(type(request)),
        )
        begun = self.metadata.clock()
        try:
            with self._reporting(attempt.waiting_for):
                async with timeout_after(self.timeout):
                    answer = await tries.answer()
        except (ConnectionFault, OutcomeUnknown) as fault:
            if attempt.endpoint is not None and not isinstance(fault, NoCommonVersion):
                self._forget(target, attempt.endpoint)  # the next request finds out where the target is now
            raise
        except TimeoutError:
            return attempt.timed_out(self.timeout, lambda: self._not_found(target, failures))
        self._durations[type(request)] = self.metadata.clock() - begun
        return answer

    async def _locate(self, target: Target, failures: dict[str, str]) -> Endpoint | None:
        """Return the broker that is the target, or None if no broker knows it at the moment.

        Args:
            failures: receives, by broker, why it did not name the target.
        """
        cache = self.metadata
        if target is ANY:
            return self.known_brokers()[0]
        if not isinstance(target, BrokerTarget):
            controller = cache.controller or await self.look_up_controller(failures)
            return None if controller is None else Endpoint(controller.host, controller.port)
        if target.id not in cache.brokers:
            await self.describe_cluster()
        if target.id not in (cache.brokers if target.is_single else cache.listed_ids):
            raise BrokerNotFound(target.id)
        return cache.brokers.get(target.id)

    def _forget(self, target: Target, endpoint: Endpoint) -> None:
        """Discard what is known about a target: the broker at `endpoint` failed or is not responsible any more."""
        self.put_last(endpoint)
        if isinstance(target, BrokerTarget):
            self.metadata.forget_broker(target.id)
        elif target is CONTROLLER:
            self.metadata.controller = None

    def _not_found(self, target: Target, failures: dict[str, str]) -> Exception:
        if isinstance(target, BrokerTarget):
            return BrokerNotFound(target.id)
        return ControllerNotFound(self.timeout, failures)

    @contextmanager
    def _reporting(self, waiting_for: Callable[[], str]) -> Iterator[None]:
        """Report what a block waits for unless it ends within NOTICE_AFTER_S."""
        on_wait = self._on_wait
        if on_wait is None:
            yield
            return
        timer = running_loop().call_later(NOTICE_AFTER_S, lambda: on_wait(waiting_for()))
        try:
            yield
        finally:
            timer.cancel()

    async def highest_version(self, request: type[Message]) -> int:
        """Return the highest version of a request that one of the brokers supports."""
        await self.cluster()
        return (await self._any_connection()).negotiated.version_of(request)

    async def _request(self, connection: Connection, request: Request[R]) -> R:
        """Send a request in the highest version that is possible. Raises ConnectionFault."""
        await _wait_for_throttle(connection)
        return await self._send(connection, request, connection.negotiated.version_of(type(request)))

    async def _send(self, connection: Connection, request: Request[R], version: int) -> R:
        response: R = await connection.send(request, version=version, decoder=self.metadata.decoder(request, version))
        self.metadata.update(response)
        return response


def _now() -> float:
    """Return the time of the event loop."""
    return running_loop().time()


async def _wait_for_throttle(connection: Connection) -> None:
    """Wait until the broker does not throttle this client any more (KIP-219)."""
    while (remaining := connection.throttled_until - _now()) > 0:
        await sleep(remaining)


def _most_telling(faults: Sequence[ConnectionFault]) -> ConnectionFault:
    """Return the fault of a peer that was reached if there is one: it says more than a refused connection."""
    return next((fault for fault in faults if not isinstance(fault, ConnectFailed)), faults[0])


def _timeout(error: TimeoutError, endpoint: Endpoint, request: str, seconds: float) -> ConnectionFault:
    return error if isinstance(error, ConnectionFault) else Timeout(endpoint, request, seconds, 0)
