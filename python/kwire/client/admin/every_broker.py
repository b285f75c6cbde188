"""Send a request to every live broker."""

from __future__ import annotations

from kwire._util.concurrency import bounded_gather
from kwire._util.light_typing import TYPE_CHECKING, TypeVar
from kwire.client.admin.errors import BrokerNotFound
from kwire.client.admin.targets import BrokerTarget
from kwire.client.admin.tries import FIRST_PAUSE, back_off, is_final
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.declare import Message, Request

R = TypeVar("R", bound="Message")


FENCED_AFTER_S = 10.0
"""Seconds after which a dead broker is not listed any more, if there is a controller: the default of
`broker.session.timeout.ms` is 9 seconds."""


async def at_every_broker(
    router: ClusterRouter,
    request: Request[R],
    brokers: Sequence[int] = (),
    *,
    unanswered: dict[int, Exception] | None = None,
) -> dict[int, Answer[R]]:
    """Send a request that changes nothing to brokers, and return the answers by broker.

    If all live brokers are asked and one of them stops, the brokers that are live then are asked again: what it was
    responsible for has moved to them. A partition without another replica in sync does not move: no broker is
    responsible for it then, and no answer says so (see `kwire.client.admin.internal_topics`). Without a controller, a
    dead broker stays in the list, and nothing moves.

    Args:
        request: the request.
        brokers: the ids of the brokers; all live brokers if there are none.
        unanswered: receives the errors of listed brokers that do not answer, if others do; None to raise them.

    Raises:
        ConnectionFault: a live broker did not respond in time; with `unanswered`, no broker did.
        BrokerNotFound: no live broker has one of the ids.
    """
    if brokers and unanswered is None:
        return await _answers(router, request, [BrokerTarget(broker) for broker in brokers])
    started = router.metadata.clock()
    pause = FIRST_PAUSE
    while True:
        asked = brokers or [broker.id for broker in (await router.cluster()).brokers]
        faults: dict[int, Exception] = {}
        targets = [BrokerTarget(broker, is_single=True) for broker in asked]
        answers = await _answers(router, request, targets, faults)
        if not faults:
            return answers
        for fault in faults.values():
            if is_final(fault) if isinstance(fault, ConnectionFault) else brokers:
                raise fault
        passed = router.metadata.clock() - started
        may_pass = any(getattr(fault, "retriable", True) for fault in faults.values())
        if unanswered is not None and answers and (passed >= min(FENCED_AFTER_S, router.timeout) or not may_pass):
            unanswered |= faults
            return answers
        if passed >= router.timeout or not may_pass:
            raise next(iter(faults.values()))
        pause = await back_off(pause)


async def _answers(
    router: ClusterRouter,
    request: Request[R],
    brokers: Sequence[BrokerTarget],
    faults: dict[int, Exception] | None = None,
) -> dict[int, Answer[R]]:
    """Return the answers of brokers, and put the errors of the others into `faults`; None to raise the first one."""

    async def ask(broker: BrokerTarget) -> Answer[R] | None:
        try:
            return await router.read(request, broker, _error_code)
        except (ConnectionFault, BrokerNotFound) as fault:
            if faults is None:
                raise
            faults[broker.id] = fault
            return None

    answers = await bounded_gather(ask, brokers)
    return {broker.id: answer for broker, answer in zip(brokers, answers, strict=True) if answer is not None}


def _error_code(response: Message) -> int:
    """Return the error code of a whole response; 0 if its items have codes of their own."""
    return getattr(response, "error_code", 0)
