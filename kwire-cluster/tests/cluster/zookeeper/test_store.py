"""Tests of the guarantees of `Store` for reads, writes, and transactions, in memory and on a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.zookeeper import Check, Create, Delete, SetData, Znode, make_path
from kwire_cluster.zookeeper.errors import (
    BadVersion,
    ForbiddenPath,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    PacketTooLarge,
    TransactionFailed,
)
from kwire_cluster.zookeeper.store import MAX_PACKET
from kwire_cluster.zookeeper.wire_format import request_size, transaction_body, write_body
from tests.cluster.zookeeper.ensembles import Ensemble, TwoSessions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire_cluster.zookeeper.operations import Operation


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

        assert [node.data for node in nodes if isinstance(node, Znode)] == [b"%d" % number for number in range(500)]
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
        acl = store._acl  # type: ignore[attr-defined]  # both stores have it
        root = getattr(store, "_root", "")
        room = MAX_PACKET - request_size(transaction_body([Create("/large")], acl, root))
        await store.multi([Create("/large", bytes(room))])
        with pytest.raises(PacketTooLarge) as failed:
            await store.multi([Create("/larger", bytes(room))])
        assert (failed.value.size, failed.value.limit) == (MAX_PACKET + 1, MAX_PACKET)
        room = MAX_PACKET - request_size(write_body(SetData("/large", b""), acl, root))
        await store.set("/large", bytes(room))
        with pytest.raises(PacketTooLarge):
            await store.set("/large", bytes(room + 1))
        with pytest.raises(PacketTooLarge):
            await store.create("/larger", bytes(MAX_PACKET))
        assert store.state == "connected"
