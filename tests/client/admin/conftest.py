"""The event loops in which the admin client is tested: each test of a coroutine runs in both."""

from __future__ import annotations

from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

import pytest

from tests.client.admin import client_loops

CLIENT_LOOPS = "asyncio", "light"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    declared = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if iscoroutinefunction(metafunc.function) and "client_loop" not in declared:
        metafunc.parametrize("client_loop", CLIENT_LOOPS, indirect=True)


@pytest.fixture(autouse=True)
def client_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The event loop of the test; of `in_client_loop` only, if a test of its module runs a part there."""
    loop: str = getattr(request, "param", "asyncio")
    monkeypatch.setattr(client_loops, "current", loop)
    if loop == "light" and not hasattr(request.module, "in_client_loop"):
        test = request.function

        @wraps(test)
        async def in_light_loop(**fixtures: Any) -> None:
            await client_loops.in_client_loop(test(**fixtures))

        monkeypatch.setattr(request.node, "obj", in_light_loop)
    return loop
