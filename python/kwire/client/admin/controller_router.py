"""Send requests to the controller, or to any broker, and retry them.

Brokers are known from the bootstrap servers and from every ClusterMetadata response. A broker that does not respond is
tried again later. If a broker responds with error 22 (not the controller), the controller is looked up again.
"""

from __future__ import annotations

import asyncio
from random import uniform
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from kwire.client.admin.errors import ControllerNotFound
from kwire.client.connection_pool import ConnectionPool
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectionFault, NoCommonVersion, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.declare import Message, Request
    from kwire.messages.kip4.cluster_metadata import ClusterMetadataResponse

R = TypeVar("R", bound="Message")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two attempts: exponential backoff with jitter."""


class ControllerResponse(NamedTuple, Generic[R]):
    """A response of the controller and how many attempts it took."""

    response: R
    attempts: int


class ControllerRouter:
    """Finds brokers and the controller of one cluster, and sends requests to them.

    Args:
        timeout: seconds for a request with all its attempts.
    """

    def __init__(self, bootstrap: tuple[Endpoint, ...], client_id: str | None, timeout: float) -> None:
        self._bootstrap = bootstrap
        self.timeout = timeout
        self._connections = ConnectionPool(client_id=client_id, timeout=timeout)
        self.brokers: dict[int, Endpoint] = {}
        """The live brokers by id, as the last ClusterMetadata response lists them."""
        self._controller: Endpoint | None = None

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def send(self, endpoint: Endpoint, request: Request[R]) -> R:
        """Send a request to one broker, once. Raises ConnectionFault."""
        return await self._connections.send(endpoint, request)

    async def send_to_any(self, request: Request[R]) -> R:
        """Send a request to the known brokers, one after the other, until one responds.

        Raises:
            ConnectionFault: no broker responded in time; the error of the last attempt.
        """
        fault: ConnectionFault | None = None
        current: Endpoint | None = None
        pause = FIRST_PAUSE
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    for endpoint in self._known_brokers():
                        current = endpoint
                        try:
                            return await self.send(endpoint, request)
                        except NoCommonVersion:
                            raise
                        except ConnectionFault as error:
                            fault = error
                    pause = await back_off(pause)
        except TimeoutError:
            assert current is not None, "there is at least one bootstrap server"
            raise fault or Timeout(current, type(request).__name__, self.timeout, 0) from None

    async def send_to_controller(self, request: Request[R], error_code: Callable[[R], int]) -> ControllerResponse[R]:
        """Send a request to the controller and retry it until a controller accepts it.

        Args:
            error_code: returns the error code of a response.

        Raises:
            ControllerNotFound: no broker names a controller in time.
            ConnectionFault: the controller does not respond in time; the error of the last attempt.
        """
        attempts = 0
        fault: ConnectionFault | None = None
        pause = FIRST_PAUSE
        last: ControllerResponse[R] | None = None
        current: Endpoint | None = None
        failures: dict[str, str] = {}
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    controller = self._controller or await self._find_controller(failures)
                    attempts += 1
                    current = controller
                    try:
                        response = await self.send(controller, request)
                    except NoCommonVersion:
                        raise
                    except ConnectionFault as error:
                        fault = error
                    else:
                        last = ControllerResponse(response, attempts)
                        if error_code(response) != ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST:
                            return last
                    self._controller = current = None
                    pause = await back_off(pause)
        except TimeoutError:
            if last is not None:
                return last
            if fault is None and current is not None:  # the controller has the request and did not respond
                fault = Timeout(current, type(request).__name__, self.timeout, 0)
            raise fault or ControllerNotFound(self.timeout, failures) from None

    async def describe_cluster(self) -> ClusterMetadataResponse:
        """Return the ClusterMetadata of any broker, and remember its brokers and controller."""
        response = await self.send_to_any(ClusterMetadataRequest())
        self._update(response)
        return response

    async def _find_controller(self, failures: dict[str, str]) -> Endpoint:
        """Send ClusterMetadata to the known brokers until one names a controller.

        Args:
            failures: receives, by broker, why it did not name one.
        """
        pause = FIRST_PAUSE
        while True:
            for endpoint in self._known_brokers():
                try:
                    response = await self.send(endpoint, ClusterMetadataRequest())
                except ConnectionFault as fault:
                    failures[str(endpoint)] = fault.reason()
                    continue
                self._update(response)
                if self._controller is not None:
                    return self._controller
                failures[str(endpoint)] = "it knows no controller"
            pause = await back_off(pause)

    def _update(self, response: ClusterMetadataResponse) -> None:
        if response.brokers:
            self.brokers = {broker.node_id: Endpoint(broker.host, broker.port) for broker in response.brokers}
        controller = response.controller
        self._controller = None if controller is None else Endpoint(controller.host, controller.port)

    def _known_brokers(self) -> tuple[Endpoint, ...]:
        return tuple(dict.fromkeys((*self.brokers.values(), *self._bootstrap)))


async def back_off(pause: float) -> float:
    """Wait for about `pause` seconds and return how long to wait the next time."""
    await asyncio.sleep(pause * uniform(0.5, 1.5))  # noqa: S311  jitter
    return min(2 * pause, LONGEST_PAUSE)
