"""What a store promises, of the one in memory and the one over a real server alike."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kwire.cluster.zookeeper import Check, Create, Delete, SetData, WatchEvent, make_path
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
from tests.cluster.zookeeper.ensembles import Ensemble, in_loop, until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.cluster.zookeeper import Store
    from kwire.cluster.zookeeper.operations import Operation


class Opened:
    """Two sessions on one tree, closed at the end."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    async def __aenter__(self) -> tuple[Store, Store]:
        return await self._ensemble.session(), await self._ensemble.session()

    async def __aexit__(self, *_: object) -> None:
        await self._ensemble.close()


# Reading and writing.


@in_loop
async def test_what_one_session_writes_another_reads(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        assert await one.create("/brokers", b"data") == "/brokers"

        node = await other.get("/brokers")

        assert node.data == b"data"
        assert (node.stat.version, node.stat.data_length, node.stat.ephemeral_owner) == (0, 4, 0)
        assert node.stat.czxid == node.stat.mzxid > 0
        assert await other.exists("/brokers") == node.stat


@in_loop
async def test_missing_nodes(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
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


@in_loop
async def test_a_version_guards_a_write(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
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


@in_loop
async def test_a_new_node_of_an_old_name_begins_at_version_0(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
        await store.create("/n")
        await store.set("/n", b"1")
        before = await store.exists("/n")
        await store.delete("/n")
        await store.create("/n")

        after = await store.exists("/n")

        assert before is not None
        assert after is not None
        assert (after.version, after.czxid > before.czxid) == (0, True)


@in_loop
async def test_children_are_sorted_and_keep_their_parent(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
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


@in_loop
async def test_sequential_nodes_are_numbered_by_their_parent(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
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


@in_loop
async def test_many_at_once_in_order(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
        await store.create("/many")
        pending = [store.create(f"/many/{number}", b"%d" % number) for number in range(500)]
        for one in pending:
            await one

        nodes = await store.get_many([f"/many/{number}" for number in range(502)])

        assert [node.data for node in nodes if node is not None] == [b"%d" % number for number in range(500)]
        assert nodes[500:] == [None, None]
        assert await store.get_many([]) == []


@in_loop
async def test_operations_take_place_in_the_order_of_their_calls(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
        pending: list[Awaitable[object]] = [store.create("/n", b"0")]
        pending += [store.set("/n", b"%d" % number, number) for number in range(300)]
        for one in pending:
            await one
        assert (await store.get("/n")).data == b"299"


@in_loop
async def test_a_cancelled_wait_disturbs_nobody(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
        store.create("/n").cancel()
        await store.sync()
        await store.set("/n", b"there all the same")


@in_loop
async def test_a_path_is_made_as_far_as_it_is_missing(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await asyncio.gather(*(make_path(store, "/a/b/c/d") for store in (one, other, one)))
        await make_path(one, "/a/b/c/d")
        await make_path(one, "/")
        assert await one.children("/a/b/c") == ["d"]


# Transactions.


@in_loop
async def test_a_transaction_does_all_and_tells_each_result(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, other):
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
@in_loop
async def test_a_refused_operation_leaves_nothing_of_its_transaction(
    ensemble: Ensemble, operation: Check | Create | SetData | Delete, error: type[Exception]
) -> None:
    async with Opened(ensemble) as (store, other):
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


@in_loop
async def test_a_deposed_controller_writes_nothing(ensemble: Ensemble) -> None:
    """The reason for transactions here: every write of a controller checks the version of the epoch's node."""
    async with Opened(ensemble) as (old, new):
        await old.create("/controller_epoch", b"1")
        await new.set("/controller_epoch", b"2", 0)

        with pytest.raises(TransactionFailed) as failed:
            await old.multi([Check("/controller_epoch", 0), Create("/written")])

        assert isinstance(failed.value.error, BadVersion)
        assert failed.value.error.path == "/controller_epoch"
        assert await new.exists("/written") is None


# What is never sent.


@pytest.mark.parametrize("path", ["/feature", "/feature/x"])
@in_loop
async def test_real_kafkas_feature_node_is_never_written(ensemble: Ensemble, path: str) -> None:
    async with Opened(ensemble) as (store, other):
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
@in_loop
async def test_what_is_no_path_is_refused_at_the_call(ensemble: Ensemble, path: str) -> None:
    async with Opened(ensemble) as (store, _):
        for call in (store.get, store.exists, store.children, store.create, store.delete):
            with pytest.raises(ValueError, match=r"no path of a node|surrogates"):
                call(path)
        with pytest.raises(ValueError, match=r"no path of a node|surrogates"):
            store.get_many(["/fine", path])
        with pytest.raises(ValueError, match="no version"):
            store.set("/x", b"", 1 << 31)
        with pytest.raises(TypeError, match="the data of /x must be bytes, not str"):
            store.multi([Create("/fine"), Create("/x", "text")])  # type: ignore[arg-type]  # that is the mistake
        await store.create("/fine")


@in_loop
async def test_a_packet_that_the_server_would_not_read_is_not_sent(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (store, _):
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


# Watches.


@in_loop
async def test_watches_see_one_change_each(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
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
        await until(lambda: len(seen) == 3)
        assert seen == [WatchEvent("changed", "/n"), WatchEvent("created", "/new"), WatchEvent("children", "/")]


@in_loop
async def test_a_deletion_fires_every_watch_of_the_node(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await make_path(one, "/p/n")
        data: list[WatchEvent] = []
        children: list[WatchEvent] = []
        parents: list[WatchEvent] = []
        await other.get("/p/n", data.append)
        await other.children("/p/n", children.append)
        await other.children("/p", parents.append)

        await one.delete("/p/n")

        await until(lambda: parents)
        assert (data, children) == ([WatchEvent("deleted", "/p/n")], [WatchEvent("deleted", "/p/n")])
        assert parents == [WatchEvent("children", "/p")]


@in_loop
async def test_an_event_comes_before_the_answer_that_shows_its_change(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await one.create("/n", b"0")
        for number in range(1, 50):
            seen: list[WatchEvent] = []
            await other.get("/n", seen.append)
            write = one.set("/n", b"%d" % number)
            while (await other.get("/n")).data != b"%d" % number:
                continue
            assert seen == [WatchEvent("changed", "/n")]
            await write


@in_loop
async def test_a_watch_that_is_set_twice_fires_once(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await one.create("/n")
        seen: list[WatchEvent] = []
        watch = seen.append
        await other.get("/n", watch)
        await other.get("/n", watch)
        await other.get_many(["/n", "/missing"], watch)
        await one.set("/n", b"1")
        await one.create("/missing")  # a read that found nothing has left no watch
        await until(lambda: seen)
        await other.sync()
        assert seen == [WatchEvent("changed", "/n")]


@in_loop
async def test_a_transaction_fires_watches_for_each_of_its_changes(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await one.create("/n")
        seen: list[WatchEvent] = []
        await other.get("/n", seen.append)
        await other.exists("/new", seen.append)
        await one.multi([Create("/new"), SetData("/n", b"1"), Delete("/new")])
        await until(lambda: len(seen) == 2)
        assert seen == [WatchEvent("created", "/new"), WatchEvent("changed", "/n")]


@in_loop
async def test_a_failing_watch_is_reported_and_silences_nobody(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        reported: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        seen: list[WatchEvent] = []

        def fail(event: WatchEvent) -> None:
            raise LookupError(event.path)

        await one.create("/n")
        await other.get("/n", fail)
        await other.children("/n", seen.append)
        await one.delete("/n")
        await until(lambda: seen and reported)
        assert isinstance(reported[0]["exception"], LookupError)


# Sessions.


@in_loop
async def test_ephemeral_nodes_live_with_their_session(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await one.create("/controller", b"1", ephemeral=True)
        gone: list[WatchEvent] = []
        stat = await other.exists("/controller", gone.append)
        assert stat is not None
        assert stat.ephemeral_owner == one.session_id != other.session_id
        with pytest.raises(NoChildrenForEphemerals):
            await one.create("/controller/child")

        await one.close()

        await until(lambda: gone)
        assert gone == [WatchEvent("deleted", "/controller")]
        assert one.state == "closed"
        with pytest.raises(StoreClosed):
            await one.get("/controller")


@in_loop
async def test_an_expired_session_is_over(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await one.create("/controller", b"1", ephemeral=True)
        states: list[str] = []
        one.listen(states.append)
        gone: list[WatchEvent] = []
        await other.exists("/controller", gone.append)

        await ensemble.expire(one)

        await until(lambda: gone and one.state == "expired")
        assert states == ["suspended", "expired"]
        for call in (lambda: one.get("/controller"), lambda: one.create("/controller", b"1", ephemeral=True)):
            with pytest.raises(SessionExpired):
                await call()
        assert await other.exists("/controller") is None
        await one.close()
        assert states == ["suspended", "expired"]


@in_loop
async def test_a_cut_connection_loses_watches_and_keeps_the_session(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await one.create("/mine", ephemeral=True)
        states: list[str] = []
        forget = one.listen(states.append)
        seen: list[WatchEvent] = []
        await one.get("/mine", seen.append)
        await one.children("/", seen.append)
        session_id = one.session_id

        ensemble.cut(one)

        await until(lambda: states == ["suspended", "connected"])
        assert sorted(seen) == [WatchEvent("lost", "/"), WatchEvent("lost", "/mine")]
        assert (one.session_id, one.state) == (session_id, "connected")
        assert (await one.get("/mine")).stat.ephemeral_owner == session_id
        await one.set("/mine", b"1")
        assert len(seen) == 2
        forget()
        ensemble.cut(one)
        await other.sync()
        await until(lambda: one.state == "connected")
        assert states == ["suspended", "connected"]


@in_loop
async def test_a_lost_answer_leaves_the_write_in_doubt(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, other):
        await one.create("/n", b"0")
        ensemble.lose_answers(one)
        doubtful = one.set("/n", b"1", 0)

        while (await other.get("/n")).data != b"1":
            continue
        ensemble.cut(one)

        with pytest.raises(ConnectionLost) as failed:
            await doubtful
        assert failed.value.path == "/n"
        # Repeating it waits for the next connection by itself, and being conditional it does no harm.
        with pytest.raises(BadVersion):
            await one.set("/n", b"1", 0)
        assert (await one.get("/n")).data == b"1"


@in_loop
async def test_what_is_asked_for_without_a_connection_is_done_with_the_next(ensemble: Ensemble) -> None:
    async with Opened(ensemble) as (one, _):
        at_the_cut: list[asyncio.Future[str]] = []

        def ask(state: str) -> None:
            if state == "suspended":
                at_the_cut.extend(one.create(f"/n{number}") for number in range(300))

        one.listen(ask)
        ensemble.cut(one)
        await until(lambda: len(at_the_cut) == 300)
        assert [await pending for pending in at_the_cut] == [f"/n{number}" for number in range(300)]
