"""The event loops in which the admin client is tested."""

from __future__ import annotations

import pytest

from tests.client.admin import client_loops


@pytest.fixture(params=["asyncio", "light"])
def client_loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The event loop of `in_client_loop`."""
    loop: str = request.param
    monkeypatch.setattr(client_loops, "current", loop)
    return loop
