"""Tests of this folder run in each event loop."""

from __future__ import annotations

from kwire._util.light_loop import running_light_loop


async def test_each_test_runs_in_the_loop_that_its_name_says(client_loop: str) -> None:
    assert (running_light_loop() is None) == (client_loop == "asyncio")
