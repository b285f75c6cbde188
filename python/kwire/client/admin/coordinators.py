"""Find the coordinators of groups or transactional ids, and send requests to them."""

from __future__ import annotations

from enum import IntEnum

from kwire._util.light_typing import TYPE_CHECKING, TypeAlias, TypeVar
from kwire.client.admin.answer import result_error
from kwire.client.admin.errors import AdminError
from kwire.client.admin.responsible_brokers import at_responsible_brokers, error_of_item
from kwire.client.admin.targets import ANY
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire.client.admin.targets import BrokerTarget
    from kwire.declare import Message, Request
    from kwire.messages.kafka.find_coordinator import FindCoordinatorRequest

R = TypeVar("R", bound="Message")
T = TypeVar("T")

if TYPE_CHECKING:
    Result: TypeAlias = T | AdminError

BATCHED_SINCE = 4
"""The first version of FindCoordinator with several keys (KIP-699)."""

MOVED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Error codes of a key that has another coordinator now, or none yet: the request had no effect on it."""


class KeyType(IntEnum):
    """The type of a key of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1


async def at_coordinators(
    router: ClusterRouter,
    keys: Sequence[str],
    send: Callable[[BrokerTarget, Sequence[str]], Awaitable[Mapping[str, Result[T]]]],
    key_type: KeyType = KeyType.GROUP,
) -> dict[str, Result[T]]:
    """Send requests for keys to their coordinators, and again to the new coordinator of a key that has moved.

    Coordinators that the client knows already are not looked up.

    Args:
        keys: group ids, or transactional ids.
        send: sends one request to a broker for some keys, and returns the result for each.

    Returns:
        The result for each key, in the order of the keys. The error is 15 if its coordinator did not respond in time,
        and no other broker replaced it. It is an UnfinishedChange if it did not respond to a command.

    Raises:
        ConnectionFault: a coordinator and this client cannot understand each other, so that waiting is in vain.
        OutcomeUnknown: a coordinator did not respond to a command that must not be repeated.
    """
    cache = router.metadata
    outcomes = await at_responsible_brokers(
        router,
        keys,
        locate=lambda unfinished: _find_all(router, unfinished, key_type),
        send=send,
        patience=lambda _, outcome: router.timeout if _has_moved(outcome) else 0.0,
        forget=lambda key: cache.forget_coordinator(key_type, key),
        moved=MOVED,
    )
    code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return {key: error_of_item(key, outcome, "coordinator", code) for key, outcome in outcomes.items()}


async def of_coordinators(
    router: ClusterRouter, listed: Mapping[str, Mapping[int, T]], key_type: KeyType = KeyType.GROUP
) -> dict[str, T]:
    """Return for each key what its coordinator lists, and look up the coordinators of keys that several brokers list.

    While a partition of the internal topic moves, its old and its new leader list the same keys.

    Args:
        listed: the items that brokers list for a key, by the ids of the brokers.
    """
    cache = router.metadata
    for key, by_broker in listed.items():
        if len(by_broker) == 1:
            cache.add_coordinator(key_type, key, *by_broker)
        else:
            cache.forget_coordinator(key_type, key)
    several = [key for key, by_broker in listed.items() if len(by_broker) > 1]
    found = await _find_all(router, several, key_type) if several else {}
    chosen: dict[str, T] = {}
    for key, by_broker in listed.items():
        coordinator = found.get(key)
        if not isinstance(coordinator, int) or coordinator not in by_broker:
            coordinator = min(by_broker)
        chosen[key] = by_broker[coordinator]
    return chosen


async def at_coordinator(router: ClusterRouter, key: str, request: Request[R], *, repeatable: bool = False) -> R:
    """Send a command for a group to its coordinator, and return the response.

    Args:
        repeatable: True if a second execution has the same effect and the same response as the first one.

    Raises:
        AdminError: the coordinator refused the whole request.
    """

    async def send(coordinator: BrokerTarget, keys: Sequence[str]) -> Mapping[str, Result[R]]:
        del keys  # there is only one
        answer = await router.command(request, coordinator, repeatable=repeatable)
        return {key: answer.error(answer.response, key) or answer.response}

    response = (await at_coordinators(router, [key], send))[key]
    if isinstance(response, AdminError):
        raise response
    return response


async def _find_all(router: ClusterRouter, keys: Sequence[str], key_type: KeyType) -> dict[str, int | AdminError]:
    """Return the ids of the coordinators, and look up only unknown ones."""
    coordinators = {key: router.metadata.coordinator(key_type, key) for key in keys}
    unknown_keys = [key for key, coordinator in coordinators.items() if coordinator is None]
    outcomes = await _find(router, unknown_keys, key_type) if unknown_keys else {}
    for key, coordinator in outcomes.items():
        if not isinstance(coordinator, AdminError):
            router.metadata.add_coordinator(key_type, key, coordinator)
    return {key: coordinator for key, coordinator in coordinators.items() if coordinator is not None} | outcomes


async def _find(router: ClusterRouter, keys: Sequence[str], key_type: KeyType) -> dict[str, int | AdminError]:
    """Return the ids of the coordinators, in one request where the broker supports it."""
    from kwire.messages.kafka.find_coordinator import FindCoordinatorRequest

    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=tuple(keys))
    if len(keys) > 1 and await router.highest_version(FindCoordinatorRequest) < BATCHED_SINCE:
        outcomes: dict[str, int | AdminError] = {}
        for key in keys:
            outcomes |= await _find(router, [key], key_type)
        return outcomes
    response = (await router.read(request, ANY, adapt=_with_one_key)).response
    if response.coordinators:
        return {
            coordinator.key: result_error(coordinator, coordinator.key) or coordinator.node_id
            for coordinator in response.coordinators
        }
    return {keys[0]: result_error(response, keys[0]) or response.node_id}


def _with_one_key(request: FindCoordinatorRequest, version: int) -> FindCoordinatorRequest:
    """Return the request for versions below 4, which have one key."""
    from kwire.messages.kafka.find_coordinator import FindCoordinatorRequest

    if version >= BATCHED_SINCE:
        return request
    return FindCoordinatorRequest(key=request.coordinator_keys[0], key_type=request.key_type)


def _has_moved(result: object) -> bool:
    """Return whether a key may have another coordinator now. Exceptions other than AdminError are lost connections."""
    if isinstance(result, AdminError):
        return result.code in MOVED
    return isinstance(result, Exception) and getattr(result, "retriable", True)
