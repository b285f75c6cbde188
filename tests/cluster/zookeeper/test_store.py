"""Tests of the guarantees of `Store`, in memory and on a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kwire.cluster.zookeeper import Check, Create, Delete, SetData, WatchEvent, WatchEventKind, make_path
from kwire.cluster.zookeeper.errors import (
    BadVersion,
    ConnectionLost,
    ForbiddenPath,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    TransactionFailed,
)
from kwire.cluster.zookeeper.packet_size import request_size, transaction_size
from kwire.cluster.zookeeper.store import MAX_PACKET
from tests.cluster.zookeeper.ensembles import Ensemble
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.cluster.zookeeper import Store
    from kwire.cluster.zookeeper.operations import Operation


class TwoSessions:
    """Two sessions of one ensemble."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    async def __aenter__(self) -> tuple[Store, Store]:
        return await self._ensemble.session(), await self._ensemble.session()

    async def __aexit__(self, *_: object) -> None:
        await self._ensemble.close()


# Reading and writing


async def test_one_session_reads_what_another_writes(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        assert await one.create("/brokers", b"data") == "/brokers"

        node = await other.get("/brokers")

        assert node.data == b"data"
        assert (node.stat.version, node.stat.data_length, node.stat.ephemeral_owner) == (0, 4, 0)
        assert node.stat.czxid == node.stat.mzxid > 0
        assert await other.exists("/brokers") == node.stat


async def test_missing_znodes_raise_no_node(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        assert await store.exists("/nothing") is None
        operations: list[Callable[[], Awaitable[object]]] = [
            lambda: store.get("/nothing"),
            lambda: store.children("/nothing"),
            lambda: store.set("/nothing", b""),
            lambda: store.delete("/nothing"),
        ]
        for operation in operations:
            with pytest.raises(NoNode) as failed:
                await operation()
            assert failed.value.path == "/nothing"
        with pytest.raises(NoNode) as failed:
            await store.create("/nothing/below")
        assert failed.value.path == "/nothing/below"


async def test_write_with_another_version_fails(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await one.create("/n", b"0")
        assert (await one.set("/n", b"1", 0)).version == 1

        with pytest.raises(BadVersion):
            await other.set("/n", b"late", 0)
        with pytest.raises(BadVersion):
            await other.delete("/n", 0)

        assert (await other.get("/n")).data == b"1"
        assert (await other.set("/n", b"2")).version == 2
        await other.delete("/n", 2)
        assert await one.exists("/n") is None


async def test_recreated_znode_starts_at_version_0(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        await store.create("/n")
        await store.set("/n", b"1")
        before = await store.exists("/n")
        await store.delete("/n")
        await store.create("/n")

        after = await store.exists("/n")

        assert before is not None
        assert after is not None
        assert (after.version, after.czxid > before.czxid) == (0, True)


async def test_children_are_sorted_and_prevent_deletion_of_the_parent(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        await store.create("/p")
        for name in ("c", "a", "b"):
            await store.create(f"/p/{name}")

        assert await store.children("/p") == ["a", "b", "c"]

        with pytest.raises(NotEmpty):
            await store.delete("/p")
        with pytest.raises(NodeExists):
            await store.create("/p/a")
        stat = await store.exists("/p")
        assert stat is not None
        assert (stat.children_count, stat.cversion, stat.version) == (3, 3, 0)


async def test_sequential_znodes_are_numbered_by_their_parent(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        await make_path(store, "/config/changes")

        names = [await store.create("/config/changes/config_change_", sequential=True) for _ in range(2)]
        await store.delete(names[1])
        names.append(await store.create("/config/changes/config_change_", sequential=True))
        await store.create("/config/changes/other")
        names.append(await store.create("/config/changes/note", sequential=True))

        assert names == [
            "/config/changes/config_change_0000000000",
            "/config/changes/config_change_0000000001",
            "/config/changes/config_change_0000000002",
            "/config/changes/note0000000004",
        ]


async def test_get_many_returns_znodes_in_order(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        await store.create("/many")
        pending = [store.create(f"/many/{number}", b"%d" % number) for number in range(500)]
        for one in pending:
            await one

        nodes = await store.get_many([f"/many/{number}" for number in range(502)])

        assert [node.data for node in nodes if node is not None] == [b"%d" % number for number in range(500)]
        assert nodes[500:] == [None, None]
        assert await store.get_many([]) == []


async def test_operations_are_applied_in_the_order_of_the_calls(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        pending: list[Awaitable[object]] = [store.create("/n", b"0")]
        pending += [store.set("/n", b"%d" % number, number) for number in range(300)]
        for one in pending:
            await one
        assert (await store.get("/n")).data == b"299"


async def test_cancelled_operation_is_applied(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        store.create("/n").cancel()
        await store.sync()
        await store.set("/n", b"created")


async def test_make_path_creates_missing_parents(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (one, other):
        await asyncio.gather(*(make_path(store, "/a/b/c/d") for store in (one, other, one)))
        await make_path(one, "/a/b/c/d")
        await make_path(one, "/")
        assert await one.children("/a/b/c") == ["d"]


# Transactions


async def test_transaction_returns_the_result_of_each_operation(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, other):
        await store.create("/epoch", b"1")
        await store.create("/old")

        results = await store.multi(
            [
                Check("/epoch", 0),
                Create("/topic", b"t"),
                Create("/topic/partitions"),
                Create("/topic/note_", sequential=True),
                SetData("/epoch", b"2"),
                Delete("/old", 0),
            ]
        )

        stat = await other.exists("/epoch")
        assert results == [None, "/topic", "/topic/partitions", "/topic/note_0000000001", stat, None]
        assert await other.children("/topic") == ["note_0000000001", "partitions"]
        assert await other.exists("/old") is None
        assert await store.multi([]) == []


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (Check("/epoch", 3), BadVersion),
        (Check("/nothing"), NoNode),
        (Create("/epoch"), NodeExists),
        (Create("/nothing/below"), NoNode),
        (SetData("/epoch", b"", 3), BadVersion),
        (Delete("/parent"), NotEmpty),
        (Create("/ephemeral/child"), NoChildrenForEphemerals),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, tuple) else value.__name__,
)
async def test_failed_operation_undoes_its_transaction(
    ensemble: Ensemble, operation: Check | Create | SetData | Delete, error: type[Exception]
) -> None:
    async with TwoSessions(ensemble) as (store, other):
        await store.create("/epoch", b"1")
        await store.create("/parent")
        await store.create("/parent/child", b"c")
        await store.create("/ephemeral", ephemeral=True)
        before = await other.get_many(["/epoch", "/parent", "/parent/child", "/ephemeral"])
        operations: list[Operation] = [
            SetData("/epoch", b"2"),
            Create("/half"),
            Delete("/parent/child"),
            Create("/parent/child"),
            SetData("/parent", b"x"),
            operation,
            Create("/rest"),
        ]

        with pytest.raises(TransactionFailed) as failed:
            await store.multi(operations)

        assert (failed.value.index, failed.value.operation) == (5, operation)
        assert type(failed.value.error) is error
        assert failed.value.path == operation.path
        assert await other.get_many(["/epoch", "/parent", "/parent/child", "/ephemeral"]) == before
        assert await other.get_many(["/half", "/rest"]) == [None, None]


async def test_write_fenced_by_an_old_epoch_fails(ensemble: Ensemble) -> None:
    """Every write of a controller checks the version of the controller epoch."""
    async with TwoSessions(ensemble) as (old, new):
        await old.create("/controller_epoch", b"1")
        await new.set("/controller_epoch", b"2", 0)

        with pytest.raises(TransactionFailed) as failed:
            await old.multi([Check("/controller_epoch", 0), Create("/written")])

        assert isinstance(failed.value.error, BadVersion)
        assert failed.value.error.path == "/controller_epoch"
        assert await new.exists("/written") is None


# Rejected requests


@pytest.mark.parametrize("path", ["/feature", "/feature/x"])
async def test_feature_znode_of_kafka_is_never_written(ensemble: Ensemble, path: str) -> None:
    async with TwoSessions(ensemble) as (store, other):
        for write in (
            lambda: store.create(path),
            lambda: store.set(path, b""),
            lambda: store.delete(path),
            lambda: store.multi([Create("/features"), Create(path)]),
        ):
            with pytest.raises(ForbiddenPath) as failed:
                await write()
            assert failed.value.path == path
        assert await store.exists(path) is None
        assert await other.exists("/features") is None
        await store.create("/features")
        await store.create("/features/x")


@pytest.mark.parametrize("path", ["", "x", "/x/", "//x", "/x//y", "/x/./y", "/x/..", "/x\0y", "/\ud800"])
async def test_invalid_path_is_rejected_by_the_call(ensemble: Ensemble, path: str) -> None:
    async with TwoSessions(ensemble) as (store, _):
        for call in (store.get, store.exists, store.children, store.create, store.delete):
            with pytest.raises(ValueError, match=r"invalid path|surrogates"):
                call(path)
        with pytest.raises(ValueError, match=r"invalid path|surrogates"):
            store.get_many(["/fine", path])
        with pytest.raises(ValueError, match="invalid version"):
            store.set("/x", b"", 1 << 31)
        with pytest.raises(TypeError, match="the data of /x must be bytes, not str"):
            store.multi([Create("/fine"), Create("/x", "text")])  # type: ignore[arg-type]  # the error under test
        await store.create("/fine")


async def test_request_that_is_too_large_is_not_sent(ensemble: Ensemble) -> None:
    async with TwoSessions(ensemble) as (store, _):
        acl = store._acl  # type: ignore[attr-defined]
        root = getattr(store, "_root", "")
        room = MAX_PACKET - transaction_size([Create("/large")], acl, root)
        await store.multi([Create("/large", bytes(room))])
        with pytest.raises(PacketTooLarge) as failed:
            await store.multi([Create("/larger", bytes(room))])
        assert (failed.value.size, failed.value.limit) == (MAX_PACKET + 1, MAX_PACKET)
        room = MAX_PACKET - request_size(SetData("/large", b""), acl, root)
        await store.set("/large", bytes(room))
        with pytest.raises(PacketTooLarge):
            await store.set("/large", bytes(room + 1))
        with pytest.raises(PacketTooLarge):
            await store.create("/larger", bytes(MAX_PACKET))
        assert store.state == "connected"


# Watches


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


# Sessions


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
