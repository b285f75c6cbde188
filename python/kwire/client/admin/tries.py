"""The tries of one request to a cluster: one after the other, and beside a try that is silent.

A try without an answer after a part of the timeout is *overdue*. Its broker goes to the back, and the target is
located again, which may be another broker now. A repeatable request is sent there as well, and the first answer counts:
a broker that hangs does not cost the timeout, and a broker that is only slow still answers. Any other command moves to
the new broker only before it is sent. See `kwire.client.admin.attempt` for the states of a try.
"""

from __future__ import annotations

from kwire._util.concurrency import create_task, current_task, gather, running_loop, sleep, wait_first
from kwire._util.light_typing import TYPE_CHECKING, Generic, TypeVar
from kwire.client.admin.attempt import AttemptState
from kwire.client.admin.errors import OutcomeUnknown
from kwire.protocol.errors import ConnectFailed, ConnectionFault

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Any

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.attempt import Attempt
    from kwire.declare import Message
    from kwire.protocol.endpoint import Endpoint

R = TypeVar("R", bound="Message")

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two tries: exponential backoff with jitter. Kafka's clients wait for 0.1 to 1.0 (KIP-580)."""


class Tries(Generic[R]):
    """The tries of one request.

    Args:
        attempt: the state of the request.
        locate: returns the broker that the request needs; None if no broker knows it at the moment.
        forget: discards what is known about the target, since a broker failed or is silent.
        send: sends the request to a broker, and returns None if it is to be sent again.
        delay: seconds after which a try is overdue.
    """

    def __init__(
        self,
        attempt: Attempt[R],
        *,
        locate: Callable[[], Coroutine[Any, Any, Endpoint | None]],
        forget: Callable[[Endpoint], None],
        send: Callable[[Endpoint], Coroutine[Any, Any, Answer[R] | None]],
        delay: float,
    ) -> None:
        self._attempt = attempt
        self._locate = locate
        self._forget = forget
        self._send = send
        self._delay = delay
        self._running: set[asyncio.Task[Answer[R] | None]] = set()
        self._asked: dict[Endpoint, float] = {}
        """The brokers that are being asked, and since when."""

    async def answer(self) -> Answer[R]:
        """Return the first answer. Raises the errors of `locate` and `send`."""
        now = running_loop().time
        pause = FIRST_PAUSE
        try:
            while True:
                self._start()
                next_at = now() + self._delay
                is_due = False
                while not is_due:  # waits at least once, or a delay of nothing would not let the timeout end the loop
                    done = await self._wait(max(0.0, next_at - now()))
                    answer = next((answer for answer in map(self._result, done) if answer is not None), None)
                    if answer is not None:
                        return answer
                    if done:  # failed, refused, or not located: try again after a pause
                        from random import uniform  # its import takes as long as a request

                        next_at = min(next_at, now() + pause * uniform(0.5, 1.5))
                        pause = min(2 * pause, LONGEST_PAUSE)
                    elif not self._may_start_another():
                        next_at = now() + self._delay
                    is_due = now() >= next_at
                for endpoint, since in list(self._asked.items()):
                    if now() - since >= self._delay:
                        self._forget(endpoint)
        finally:
            for task in self._running:
                task.cancel()
            await gather(*self._running, return_exceptions=True)

    def _start(self) -> None:
        if not self._asked:
            self._attempt.paused()
        self._running.add(create_task(self._try()))

    async def _wait(self, seconds: float) -> set[asyncio.Task[Answer[R] | None]]:
        """Wait until a try has ended, and return the tries that have."""
        if not self._running:
            await sleep(seconds)
            return set()
        done, self._running = await wait_first(self._running, seconds)
        return done

    def _result(self, task: asyncio.Task[Answer[R] | None]) -> Answer[R] | None:
        """Return the answer of a try that has ended. A fault counts if there is no other try that may still succeed."""
        if task.cancelled():  # the command has moved to another broker
            return None
        try:
            return task.result()
        except (ConnectionFault, OutcomeUnknown):
            if not self._asked:
                raise
            return None

    def _may_start_another(self) -> bool:
        return self._attempt.is_repeatable or self._attempt.state is not AttemptState.IN_FLIGHT

    async def _try(self) -> Answer[R] | None:
        """Locate the target and ask it, unless it is being asked already."""
        endpoint = await self._locate()
        if endpoint is None or endpoint in self._asked or not self._may_start_another():
            if not self._asked:
                self._attempt.located(None)
            return None
        if not self._attempt.is_repeatable:
            for other in self._running - {current_task()}:
                other.cancel()
        self._attempt.located(endpoint)
        self._asked[endpoint] = running_loop().time()
        try:
            answer = await self._send(endpoint)
        finally:
            self._asked.pop(endpoint, None)
        if answer is None:
            self._forget(endpoint)
        return answer


async def back_off(pause: float) -> float:
    """Wait for about `pause` seconds and return how long to wait the next time."""
    from random import uniform  # its import takes as long as a request

    await sleep(pause * uniform(0.5, 1.5))
    return min(2 * pause, LONGEST_PAUSE)


def is_final(fault: ConnectionFault) -> bool:
    """Return whether a broker was reached, and it and this client do not accept each other: others will not either."""
    return not fault.retriable and not isinstance(fault, ConnectFailed)
