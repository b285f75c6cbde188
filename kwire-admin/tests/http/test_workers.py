"""Verbs run in threads of their principals: what one request computes delays no other principal, and no probe."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import pytest
from starlette.requests import Request

from kwire.protocol.endpoint import Endpoint
from kwire.protocol.errors import ConnectFailed
from kwire.terminal.cluster import ClusterChoice
from kwire.testing import FakeCluster
from kwire_admin.http.application import _serve_verb
from kwire_admin.http.idempotency import IdempotentResponses
from kwire_admin.http.responses import RequestRefused
from kwire_admin.http.workers import MAX_RUNNING, SWITCH_INTERVAL_S, PrincipalWorkers
from kwire_admin.operations.declaration import Operation, Rows, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_admin.operations.run import Run

if TYPE_CHECKING:
    from starlette.responses import Response

    from kwire_admin.http.responses import RequestRefused
from kwire_admin.http.workers import PrincipalWorker


async def test_work_of_principals_runs_in_threads_of_their_own() -> None:
    workers = PrincipalWorkers(ClusterChoice(None, "127.0.0.1:1"))
    goes_on = threading.Event()
    ran = asyncio.Event()

    async def thread(_: PrincipalWorker) -> int:
        return threading.get_ident()

    async def computes(_: PrincipalWorker) -> int:
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
    workers = PrincipalWorkers(ClusterChoice(None, "127.0.0.1:1"))

    async def interval(_: PrincipalWorker) -> float:
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
    workers = PrincipalWorkers(ClusterChoice(None, "127.0.0.1:1"))
    ended: list[str] = []

    async def waits(_: PrincipalWorker) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    async def answers(_: PrincipalWorker) -> str:
        return "answer"

    running = [asyncio.create_task(workers.run("User:a", waits)) for _ in range(MAX_RUNNING)]
    await asyncio.sleep(0)
    with pytest.raises(RequestRefused, match="User:a"):
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
    workers, goes_on = PrincipalWorkers(ClusterChoice(None, "127.0.0.1:1")), threading.Event()

    async def computes(_: PrincipalWorker) -> None:
        assert goes_on.wait(60)

    busy = asyncio.create_task(workers.run("User:a", computes))
    await asyncio.sleep(0)
    await workers.close()
    assert not busy.done()
    goes_on.set()
    await asyncio.gather(busy, return_exceptions=True)


HAS_STARTED, HAS_DELETED = threading.Event(), threading.Event()


@operation(Danger.CHANGES)
async def two_steps(run: Run, topic: Annotated[str | None, Option("Topic to delete.", "NAME")] = None) -> Rows[str]:
    """Delete a topic, and then find no broker."""
    if topic is not None:
        await run.admin.delete_topics([topic])
        HAS_DELETED.set()
    raise ConnectFailed(Endpoint("127.0.0.1", 1), "refused")


@operation(Danger.CHANGES)
async def fails_beside_another(run: Run) -> Rows[str]:
    """Find no broker, after another run with the same client has deleted a topic."""
    HAS_STARTED.set()
    while not HAS_DELETED.is_set():
        await asyncio.sleep(0)
    raise ConnectFailed(Endpoint("127.0.0.1", 1), "refused")


async def test_change_with_an_answered_step_does_not_run_again_for_its_key() -> None:
    """A later step that finds no broker was not sent, but the step before it was made."""
    with FakeCluster(1, topics=["orders", "audit"]) as cluster:
        workers, idempotent = PrincipalWorkers(ClusterChoice(None, cluster.bootstrap)), IdempotentResponses()

        async def change(verb: Operation, key: str, **values: object) -> Response:
            async def receive() -> dict[str, object]:
                return {"type": "http.request", "body": json.dumps(values).encode(), "more_body": False}

            headers = [(b"content-type", b"application/json"), (b"idempotency-key", key.encode())]
            state = {"principal": "User:a", "request_id": key}
            scope = {"type": "http", "path": "/", "query_string": b"", "headers": headers, "state": state}
            return await _serve_verb(workers, idempotent, verb, Request(scope, receive))

        try:
            for _ in range(2):
                assert "idempotent-replayed" not in (await change(two_steps, "fails")).headers
            beside = asyncio.create_task(change(fails_beside_another, "fails-beside-another"))
            while not HAS_STARTED.is_set():
                await asyncio.sleep(0)
            first = await change(two_steps, "deleted", topic="orders")
            cluster.create_topics(["orders"])
            repeated = await change(two_steps, "deleted", topic="orders")
            await beside
            assert "idempotent-replayed" not in (await change(fails_beside_another, "fails-beside-another")).headers
        finally:
            await workers.close()
        assert (first.status_code, repeated.body) == (503, first.body)
        assert repeated.headers["idempotent-replayed"] == "true"
