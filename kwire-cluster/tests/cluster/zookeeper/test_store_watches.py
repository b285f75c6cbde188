"""Tests of the guarantees of `Store` for watches, in memory and on a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire_cluster.zookeeper import Create, Delete, SetData, WatchEvent, WatchEventKind, make_path
from tests.cluster.zookeeper.ensembles import Ensemble, TwoSessions
from tests.eventually import eventually

if TYPE_CHECKING:
    pass


async def test_watch_reports_one_change(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/n")
        seen: list[WatchEvent] = []
        await other.get("/n", seen.append)
        await other.exists("/new", seen.append)
        await other.children("/", seen.append)

        await one.set("/n", b"1")
        await one.set("/n", b"2")
        await one.create("/new")
        await one.create("/newer")

        await other.sync()
        await eventually(lambda: len(seen) == 3)
        assert seen == [
            WatchEvent(WatchEventKind.CHANGED, "/n"),
            WatchEvent(WatchEventKind.CREATED, "/new"),
            WatchEvent(WatchEventKind.CHILDREN, "/"),
        ]


async def test_deletion_fires_every_watch_of_the_znode(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await make_path(one, "/p/n")
        data: list[WatchEvent] = []
        children: list[WatchEvent] = []
        parents: list[WatchEvent] = []
        await other.get("/p/n", data.append)
        await other.children("/p/n", children.append)
        await other.children("/p", parents.append)

        await one.delete("/p/n")

        await eventually(lambda: parents)
        assert (data, children) == (
            [WatchEvent(WatchEventKind.DELETED, "/p/n")],
            [WatchEvent(WatchEventKind.DELETED, "/p/n")],
        )
        assert parents == [WatchEvent(WatchEventKind.CHILDREN, "/p")]


async def test_watch_event_precedes_the_response_that_shows_the_change(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/n", b"0")
        for number in range(1, 50):
            seen: list[WatchEvent] = []
            await other.get("/n", seen.append)
            write = one.set("/n", b"%d" % number)
            while (await other.get("/n")).data != b"%d" % number:
                continue
            assert seen == [WatchEvent(WatchEventKind.CHANGED, "/n")]
            await write


async def test_watch_set_twice_fires_once(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/n")
        seen: list[WatchEvent] = []
        watch = seen.append
        await other.get("/n", watch)
        await other.get("/n", watch)
        await other.get_many(["/n", "/missing"], watch)
        await one.set("/n", b"1")
        await one.create("/missing")  # reading a missing znode sets no watch
        await eventually(lambda: seen)
        await other.sync()
        assert seen == [WatchEvent(WatchEventKind.CHANGED, "/n")]


async def test_transaction_fires_a_watch_for_each_change(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/n")
        seen: list[WatchEvent] = []
        await other.get("/n", seen.append)
        await other.exists("/new", seen.append)
        await one.multi([Create("/new"), SetData("/n", b"1"), Delete("/new")])
        await eventually(lambda: len(seen) == 2)
        assert seen == [WatchEvent(WatchEventKind.CREATED, "/new"), WatchEvent(WatchEventKind.CHANGED, "/n")]


async def test_failing_watch_is_reported_and_others_are_called(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        reported: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        seen: list[WatchEvent] = []

        def fail(event: WatchEvent) -> None:
            raise LookupError(event.path)

        await one.create("/n")
        await other.get("/n", fail)
        await other.children("/n", seen.append)
        await one.delete("/n")
        await eventually(lambda: seen and reported)
        assert isinstance(reported[0]["exception"], LookupError)
