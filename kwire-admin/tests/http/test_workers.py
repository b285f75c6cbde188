"""Verbs run in threads of their principals: what one request computes delays no other principal, and no probe."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from kwire_admin.http.cluster_access import ClusterAccess, ServedCluster
from kwire_admin.http.workers import MAX_RUNNING, SWITCH_INTERVAL_S, PrincipalBusy, PrincipalWorkers

if TYPE_CHECKING:
    pass


async def test_work_of_principals_runs_in_threads_of_their_own() -> None:
    workers = PrincipalWorkers(ServedCluster("127.0.0.1:1"))
    goes_on = threading.Event()
    ran = asyncio.Event()

    async def thread(_: ClusterAccess) -> int:
        return threading.get_ident()

    async def computes(_: ClusterAccess) -> int:
        assert goes_on.wait(60)
        return threading.get_ident()

    try:
        busy = asyncio.create_task(workers.run("User:a", computes))
        asyncio.get_running_loop().call_soon(ran.set)
        await ran.wait()  # the event loop goes on while the thread computes
        other = await workers.run("User:b", thread)
        assert not busy.done()
        goes_on.set()
        assert len({await busy, other, threading.get_ident()}) == 3
        assert await workers.run("User:b", thread) == other
    finally:
        goes_on.set()
        await workers.close()


async def test_event_loop_gets_the_processor_often_beside_threads_that_compute() -> None:
    before = sys.getswitchinterval()
    workers = PrincipalWorkers(ServedCluster("127.0.0.1:1"))

    async def interval(_: ClusterAccess) -> float:
        return sys.getswitchinterval()

    try:
        sys.setswitchinterval(0.005)
        assert await workers.run("User:a", interval) == pytest.approx(SWITCH_INTERVAL_S)
        sys.setswitchinterval(SWITCH_INTERVAL_S / 10)
        assert await workers.run("User:b", interval) < SWITCH_INTERVAL_S, "a shorter one stays"
    finally:
        sys.setswitchinterval(before)
        await workers.close()


async def test_requests_of_a_principal_are_limited_and_can_be_canceled() -> None:
    workers = PrincipalWorkers(ServedCluster("127.0.0.1:1"))
    ended: list[str] = []

    async def waits(_: ClusterAccess) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    async def answers(_: ClusterAccess) -> str:
        return "answer"

    running = [asyncio.create_task(workers.run("User:a", waits)) for _ in range(MAX_RUNNING)]
    await asyncio.sleep(0)
    with pytest.raises(PrincipalBusy, match="User:a"):
        await workers.run("User:a", answers)
    assert await workers.run("User:b", answers) == "answer"
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert await workers.run("User:a", answers) == "answer"
    await workers.close()
    assert len(ended) == MAX_RUNNING


async def test_close_does_not_wait_for_a_thread_that_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire_admin.http.workers.CLOSE_TIMEOUT_S", 0.05)
    workers, goes_on = PrincipalWorkers(ServedCluster("127.0.0.1:1")), threading.Event()

    async def computes(_: ClusterAccess) -> None:
        assert goes_on.wait(60)

    busy = asyncio.create_task(workers.run("User:a", computes))
    await asyncio.sleep(0)
    await workers.close()
    assert not busy.done()
    goes_on.set()
    await asyncio.gather(busy, return_exceptions=True)
