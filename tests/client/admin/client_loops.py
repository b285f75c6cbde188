"""Run a client in the event loop that a test asks for, beside brokers of the test on asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from kwire._util.light_loop import LightLoop, running_light_loop

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["in_client_loop"]

T = TypeVar("T")

current = "asyncio"
"""`asyncio` or `light`. The fixture `client_loop` sets it."""


async def in_client_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that opens, uses, and closes a client."""
    if current == "asyncio" or running_light_loop() is not None:
        return await work
    return await asyncio.to_thread(LightLoop().run, work)
