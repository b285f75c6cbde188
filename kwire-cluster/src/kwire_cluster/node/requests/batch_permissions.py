"""Commands about many topics; some topics can be denied to the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kwire_cluster.controller.backend import Outcome
from kwire_cluster.node.requests.topic_responses import result_of_each
from kwire_cluster.request_quotas import in_slices

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kwire_cluster.controller.errors import CommandError

T = TypeVar("T")


async def outcomes_of_allowed(
    command: Callable[[Sequence[T]], Awaitable[list[Outcome]]],
    items: Sequence[T],
    name_of: Callable[[T], str],
    denial_of: Callable[[T], CommandError | None],
) -> list[Outcome]:
    """Run a command with the items that the client is allowed to send.

    Args:
        command: returns an outcome for each distinct topic, or raises CommandError.
        items: the items of the request.
        name_of: the topic of an item.
        denial_of: the reason why an item is denied; None if it is allowed. A topic with a denied item is denied.

    Returns:
        An outcome for each distinct topic, in the order in which the request first names the topics.
    """
    denied: dict[str, CommandError] = {}
    async for item in in_slices(items):
        error = denial_of(item)
        if error is not None:
            denied.setdefault(name_of(item), error)
    if not denied:
        return await result_of_each(command(items), map(name_of, items))
    names = dict.fromkeys(map(name_of, items))
    allowed = [item for item in items if name_of(item) not in denied]
    outcomes = await result_of_each(command(allowed), map(name_of, allowed)) if allowed else []
    by_topic = {outcome.topic: outcome for outcome in outcomes}
    return [by_topic[name] if name in by_topic else Outcome(name, denied[name]) for name in names]
