"""Calls for many items, a limited number of them at once.

A peer decides how many brokers, leaders, or coordinators there are, and each call can open a connection.
"""

from __future__ import annotations

from kwire._util.concurrency import create_task, gather, semaphore
from kwire._util.light_typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

__all__ = ["AT_ONCE", "bounded_gather"]

AT_ONCE = 100
"""Maximum number of calls at once. Above the brokers of almost every cluster, far below the 1,024 files that a process
may open by default."""

Item = TypeVar("Item")
Result = TypeVar("Result")


async def bounded_gather(
    call: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, at_once: int = AT_ONCE
) -> list[Result]:
    """Call a function for each item, and return the results in the order of the items.

    The first error is raised, and calls that go on are canceled.

    Args:
        call: the function.
        items: its arguments.
        at_once: maximum number of calls at once.
    """
    places = semaphore(at_once)

    async def wait_and_call(item: Item) -> Result:
        async with places:
            return await call(item)

    tasks = [create_task(wait_and_call(item)) for item in items]
    try:
        return list(await gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await gather(*tasks, return_exceptions=True)
        raise
