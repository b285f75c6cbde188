"""The server: idle between requests, and stopped at once by a signal."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import uvicorn

from kwire_admin.http import server as server_module
from tests.eventually import eventually

if TYPE_CHECKING:
    import pytest
    from starlette.types import Receive, Scope, Send


async def test_an_idle_server_sleeps_until_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `main_loop` of its own, it looks for a signal ten times a second."""
    monkeypatch.setattr(server_module, "TICK_S", 1_000.0)

    async def application(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise AssertionError

    server = server_module._Server(uvicorn.Config(application), None)
    ticks: list[int] = []
    tick = server.on_tick

    async def count(counter: int) -> bool:
        ticks.append(counter)
        return await tick(counter)

    monkeypatch.setattr(server, "on_tick", count)
    server.config.load()
    task = asyncio.create_task(server.main_loop())
    await eventually(lambda: bool(ticks), "the loop has begun")
    assert not task.done()
    server.handle_exit(signal.SIGTERM, None)
    await asyncio.wait_for(task, 60)
    assert ticks == [0, 0]
