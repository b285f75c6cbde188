"""Send a request to every live broker."""

from __future__ import annotations

from kwire._util.bounded_gather import bounded_gather
from kwire._util.light_typing import TYPE_CHECKING, TypeVar
from kwire.client.admin.answer import Answer, error_code
from kwire.client.admin.cluster_router import FIRST_PAUSE, BrokerTarget, back_off
from kwire.client.admin.errors import BrokerNotFound
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.declare import Message, Request

R = TypeVar("R", bound="Message")


async def at_every_broker(
    router: ClusterRouter, request: Request[R], brokers: Sequence[int] = ()
) -> dict[int, Answer[R]]:
    """Send a request that changes nothing to brokers, and return the answers by broker.

    If all live brokers are asked and one of them stops, the brokers that are live then are asked again: what it was
    responsible for has moved to them.

    Args:
        request: the request.
        brokers: the ids of the brokers; all live brokers if there are none.

    Raises:
        ConnectionFault: a live broker did not respond in time.
        BrokerNotFound: no live broker has one of the ids.
    """
    if brokers:
        return await _answers(router, request, [BrokerTarget(broker) for broker in brokers])
    deadline = router.metadata.clock() + router.timeout
    pause = FIRST_PAUSE
    while True:
        cluster = await router.cluster()
        try:
            return await _answers(
                router, request, [BrokerTarget(broker.id, is_single=True) for broker in cluster.brokers]
            )
        except (ConnectionFault, BrokerNotFound) as error:
            retriable = not isinstance(error, ConnectionFault) or error.retriable
            if not retriable or router.metadata.clock() >= deadline:
                raise
        pause = await back_off(pause)


async def _answers(router: ClusterRouter, request: Request[R], brokers: Sequence[BrokerTarget]) -> dict[int, Answer[R]]:
    answers = await bounded_gather(lambda broker: router.read(request, broker, error_code), brokers)
    return {broker.id: answer for broker, answer in zip(brokers, answers, strict=True)}
