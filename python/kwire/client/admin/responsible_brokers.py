"""Send requests for items to the brokers that are responsible for them: leaders or coordinators."""

from __future__ import annotations

from collections import defaultdict

from kwire._util.concurrency import bounded_gather
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar, cast
from kwire.client.admin.answer import lacking
from kwire.client.admin.errors import AdminError, BrokerNotFound, OutcomeUnknown, UnfinishedChange
from kwire.client.admin.targets import BrokerTarget
from kwire.client.admin.tries import FIRST_PAUSE, back_off, is_final
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.cluster_router import ClusterRouter

T = TypeVar("T")

UNANSWERED = (ConnectionFault, BrokerNotFound, OutcomeUnknown)
"""Errors of an item whose broker did not respond."""


async def at_responsible_brokers(
    router: ClusterRouter,
    items: Iterable[T],
    locate: Callable[[Sequence[T]], Awaitable[Mapping[T, int | AdminError]]],
    send: Callable[[BrokerTarget, Sequence[T]], Awaitable[Mapping[T, Any]]],
    patience: Callable[[T, Any], float],
    forget: Callable[[T], None],
    *,
    moved: Collection[int],
) -> dict[T, Any]:
    """Send requests for items to their brokers, and again to the new broker of an item that has moved.

    Args:
        locate: returns the id of the broker of each item, or the error of an item without one.
        send: sends one request to a broker for some items, and returns the result for each.
        patience: returns the seconds since the start for which an item with this outcome is tried again.
        forget: discards which broker is responsible for an item.
        moved: the error codes of brokers that are not responsible for an item: the request had no effect on it.

    Returns:
        The result for each item, or its error: one of `UNANSWERED` if its broker did not respond in time, and no other
        broker replaced it.

    Raises:
        OutcomeUnknown: a broker did not respond to a command that must not be repeated.
    """
    requested = list(dict.fromkeys(items))
    outcomes: dict[T, Any] = {}
    unfinished = requested
    started = router.metadata.clock()
    pause = 0.0
    while unfinished:
        by_broker: dict[int, list[T]] = defaultdict(list)
        located = await locate(unfinished)
        for item in unfinished:
            broker = located[item] if item in located else lacking(str(item))
            if not isinstance(broker, AdminError):
                by_broker[broker].append(item)
            elif not isinstance(outcomes.get(item), OutcomeUnknown):  # a lost response stays lost
                outcomes[item] = broker
        for results in await bounded_gather(lambda asked: _attempt(send, *asked), by_broker.items()):
            outcomes |= {item: _later_outcome(outcomes.get(item), result, moved) for item, result in results.items()}
        passed = router.metadata.clock() - started
        unfinished = [item for item in unfinished if passed < patience(item, outcomes[item])]
        for item in unfinished:
            forget(item)
        if unfinished:  # an old entry of the cache may be the reason, so the first look-up does not wait
            pause = await back_off(pause) if pause else FIRST_PAUSE
    return {item: outcomes[item] for item in requested}


async def _attempt(
    send: Callable[[BrokerTarget, Sequence[T]], Awaitable[Mapping[T, Any]]], broker: int, items: Sequence[T]
) -> Mapping[T, Any]:
    """Send a request for items to their broker, once. If it cannot be reached, the error is the result of all items."""
    try:
        results = await send(BrokerTarget(broker, is_single=True), items)
    except (ConnectionFault, BrokerNotFound) as error:
        return dict.fromkeys(items, error)
    except OutcomeUnknown as unknown:
        if not unknown.is_repeatable:
            raise
        return dict.fromkeys(items, unknown)
    return {item: results[item] if item in results else lacking(str(item)) for item in items}


def _later_outcome(earlier: object, outcome: T, moved: Collection[int]) -> T:
    """Return the outcome of an item after another try. A lost response stays lost until a try takes effect or fails.

    Args:
        moved: the error codes of brokers that are not responsible for the item.
    """
    code = getattr(outcome, "code", getattr(outcome, "error_code", None))
    is_unanswered = isinstance(outcome, ConnectionFault | BrokerNotFound) or code in moved
    if not isinstance(earlier, OutcomeUnknown):
        return outcome
    if isinstance(outcome, OutcomeUnknown):
        attempts = earlier.attempts + outcome.attempts
        return cast("T", OutcomeUnknown(outcome.request, outcome.fault, attempts, outcome.is_repeatable))
    return cast("T", earlier) if is_unanswered else outcome


def error_of_item(item: str, outcome: Any, role: str, code: int) -> Any:
    """Return an outcome, and the error of the item alone if its broker did not respond.

    Args:
        role: the relation of the broker to the item, such as `leader`.
        code: the code of the error.

    Raises:
        ConnectionFault: the broker and this client cannot understand each other, so that waiting is in vain.
    """
    if isinstance(outcome, ConnectionFault) and is_final(outcome):
        raise outcome
    if isinstance(outcome, ConnectionFault | BrokerNotFound):
        return AdminError.of_kafka(code, item, f"its {role} does not answer: {outcome}")
    if isinstance(outcome, OutcomeUnknown):
        return UnfinishedChange.of_kafka(ErrorCode.REQUEST_TIMED_OUT, item, str(outcome))
    return outcome
