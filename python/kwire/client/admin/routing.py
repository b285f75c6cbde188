"""To whom a request goes: the controller, or any broker; and to whom next when that one fails.

Rules of this file: brokers are known from the bootstrap list and from every answer of ClusterMetadata. A broker that
does not answer is asked again later; a controller that says 22 is no longer one, and is looked for again. Nothing is
tried for longer than the time-out, which covers all attempts together.
"""

from __future__ import annotations

import asyncio
from random import uniform
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kwire.client.admin.errors import NoController
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
"""Seconds between attempts; doubled from one to the next, and a random half to one and a half of it."""


class Told(NamedTuple):
    """An answer, and how many attempts it took."""

    answer: Any
    attempts: int


class Routing:
    """The connections of one client. ``timeout``: seconds for a request with all its attempts."""

    def __init__(self, bootstrap: tuple[Endpoint, ...], client_id: str | None, timeout: float) -> None:
        self._bootstrap = bootstrap
        self.timeout = timeout
        self._connections = ConnectionPool(client_id=client_id, timeout=timeout)
        self.brokers: dict[int, Endpoint] = {}
        self._controller: Endpoint | None = None

    async def close(self) -> None:
        await self._connections.close()

    async def ask(self, endpoint: Endpoint, request: Request[R]) -> R:
        """One broker, one attempt. Raises ConnectionFault."""
        return await self._connections.send(endpoint, request)

    async def ask_any(self, request: Request[R]) -> R:
        """Whoever answers first of those that are known, one after the other.

        Raises the last ConnectionFault when nobody answered in time.
        """
        fault: ConnectionFault | None = None
        asking: Endpoint | None = None
        pause = FIRST_PAUSE
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    for endpoint in self._known():
                        asking = endpoint
                        try:
                            return await self.ask(endpoint, request)
                        except NoCommonVersion:
                            raise
                        except ConnectionFault as error:
                            fault = error
                    pause = await paused(pause)
        except TimeoutError:
            assert asking is not None, "a client has a bootstrap list"
            raise fault or Timeout(asking, type(request).__name__, self.timeout, 0) from None

    async def ask_controller(self, request: Request[R], code_of: Callable[[R], int]) -> Told:
        """The controller, whoever that is. ``code_of`` an answer: 22 has the controller looked for again.

        Raises NoController; the last ConnectionFault when the time is over.
        """
        attempts = 0
        fault: ConnectionFault | None = None
        pause = FIRST_PAUSE
        last: Told | None = None
        asking: Endpoint | None = None
        asked: dict[str, str] = {}
        try:
            async with asyncio.timeout(self.timeout):
                while True:
                    controller = self._controller or await self._find_controller(asked)
                    attempts += 1
                    asking = controller
                    try:
                        answer = await self.ask(controller, request)
                    except NoCommonVersion:
                        raise
                    except ConnectionFault as error:
                        fault = error
                    else:
                        last = Told(answer, attempts)
                        if code_of(answer) != ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST:
                            return last
                    self._controller = asking = None
                    pause = await paused(pause)
        except TimeoutError:
            if last is not None:
                return last
            if fault is None and asking is not None:  # the controller has it, and has not answered
                fault = Timeout(asking, type(request).__name__, self.timeout, 0)
            raise fault or NoController(self.timeout, asked) from None

    async def cluster(self) -> ClusterMetadataResponse:
        """ClusterMetadata of whoever answers."""
        answer = await self.ask_any(ClusterMetadataRequest())
        self._learn(answer)
        return answer

    async def _find_controller(self, asked: dict[str, str]) -> Endpoint:
        """Ask all who are known until one names a controller. ``asked``: takes what they said instead."""
        pause = FIRST_PAUSE
        while True:
            for endpoint in self._known():
                try:
                    answer = await self.ask(endpoint, ClusterMetadataRequest())
                except ConnectionFault as fault:
                    asked[str(endpoint)] = fault.reason()
                    continue
                self._learn(answer)
                if self._controller is not None:
                    return self._controller
                asked[str(endpoint)] = "it knows of none"
            pause = await paused(pause)

    def _learn(self, answer: ClusterMetadataResponse) -> None:
        if answer.brokers:
            self.brokers = {broker.node_id: Endpoint(broker.host, broker.port) for broker in answer.brokers}
        controller = answer.controller
        self._controller = None if controller is None else Endpoint(controller.host, controller.port)

    def _known(self) -> tuple[Endpoint, ...]:
        return tuple(dict.fromkeys((*self.brokers.values(), *self._bootstrap)))


async def paused(pause: float) -> float:
    """Wait about so long; the result is how long to wait the next time."""
    await asyncio.sleep(pause * uniform(0.5, 1.5))  # noqa: S311 - clients shall not come at once, that is all
    return min(2 * pause, LONGEST_PAUSE)
