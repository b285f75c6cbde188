"""Tests of the guarantees of `Store` for sessions and lost connections, in memory and on a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.zookeeper import WatchEvent, WatchEventKind
from kwire_cluster.zookeeper.errors import (
    BadVersion,
    ConnectionLost,
    NoChildrenForEphemerals,
    SessionExpired,
    StoreClosed,
)
from tests.cluster.zookeeper.ensembles import Ensemble, TwoSessions
from tests.eventually import eventually

if TYPE_CHECKING:
    pass


async def test_ephemeral_znode_is_deleted_with_its_session(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/controller", b"1", ephemeral=True)
        deleted: list[WatchEvent] = []
        stat = await other.exists("/controller", deleted.append)
        assert stat is not None
        assert stat.ephemeral_owner == one.session_id != other.session_id
        with pytest.raises(NoChildrenForEphemerals):
            await one.create("/controller/child")

        await one.close()

        await eventually(lambda: deleted)
        assert deleted == [WatchEvent(WatchEventKind.DELETED, "/controller")]
        assert one.state == "closed"
        with pytest.raises(StoreClosed):
            await one.get("/controller")


async def test_expired_session_rejects_operations(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/controller", b"1", ephemeral=True)
        states: list[str] = []
        one.listen(states.append)
        deleted: list[WatchEvent] = []
        await other.exists("/controller", deleted.append)

        await ensemble.expire(one)

        await eventually(lambda: deleted and one.state == "expired")
        assert states == ["suspended", "expired"]
        for call in (lambda: one.get("/controller"), lambda: one.create("/controller", b"1", ephemeral=True)):
            with pytest.raises(SessionExpired):
                await call()
        assert await other.exists("/controller") is None
        await one.close()
        assert states == ["suspended", "expired"]


async def test_lost_connection_ends_watches_and_keeps_the_session(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/mine", ephemeral=True)
        states: list[str] = []
        remove_listener = one.listen(states.append)
        seen: list[WatchEvent] = []
        await one.get("/mine", seen.append)
        await one.children("/", seen.append)
        session_id = one.session_id

        ensemble.disconnect(one)

        await eventually(lambda: states == ["suspended", "connected"])
        assert sorted(seen) == [WatchEvent(WatchEventKind.LOST, "/"), WatchEvent(WatchEventKind.LOST, "/mine")]
        assert (one.session_id, one.state) == (session_id, "connected")
        assert (await one.get("/mine")).stat.ephemeral_owner == session_id
        await one.set("/mine", b"1")
        assert len(seen) == 2
        remove_listener()
        ensemble.disconnect(one)
        await other.sync()
        await eventually(lambda: one.state == "connected")
        assert states == ["suspended", "connected"]


async def test_lost_response_leaves_the_outcome_unknown(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/n", b"0")
        ensemble.lose_responses(one)
        pending = one.set("/n", b"1", 0)

        while (await other.get("/n")).data != b"1":
            continue
        ensemble.disconnect(one)

        with pytest.raises(ConnectionLost) as failed:
            await pending
        assert failed.value.path == "/n"
        # A repeated write waits for the next connection. It is conditional, so it has no effect.
        with pytest.raises(BadVersion):
            await one.set("/n", b"1", 0)
        assert (await one.get("/n")).data == b"1"


async def test_operations_without_a_connection_wait_for_the_next_one(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, _):
        called: list[asyncio.Future[str]] = []

        def create_many(state: str) -> None:
            if state == "suspended":
                called.extend(one.create(f"/n{number}") for number in range(300))

        one.listen(create_many)
        ensemble.disconnect(one)
        await eventually(lambda: len(called) == 300)
        assert [await pending for pending in called] == [f"/n{number}" for number in range(300)]
