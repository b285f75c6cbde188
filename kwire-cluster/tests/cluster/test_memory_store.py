"""Tests of injected faults and of the data tree in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_cluster.zookeeper import Check, Create, Delete, SetData, WatchEvent, WatchEventKind
from kwire_cluster.zookeeper.errors import ConnectionLost, NoNode, SessionExpired, StoreClosed, StoreError
from tests.cluster.data_tree import DataTree
from tests.cluster.memory_store import InjectedFault, MemoryStore, MemoryZooKeeper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.zookeeper.operations import Operation


@pytest.mark.parametrize(
    ("fault", "written"), [(InjectedFault.LOSE_REQUEST, False), (InjectedFault.LOSE_RESPONSE, True)]
)
async def test_write_with_an_injected_fault(fault: InjectedFault, written: bool) -> None:
    memory = MemoryZooKeeper()
    store, other = memory.session(), memory.session()
    faults = [InjectedFault.NONE, fault]
    memory.inject_fault = lambda *_: faults.pop(0) if faults else InjectedFault.NONE
    states: list[str] = []
    store.listen(states.append)

    first, second, third = store.create("/first"), store.create("/second"), store.create("/third")

    # The response of the first was in flight when the connection ended; the third was called without a connection.
    for unknown in (first, second):
        with pytest.raises(ConnectionLost):
            await unknown
    assert await third == "/third"
    assert await other.exists("/first") is not None
    assert (await other.exists("/second") is not None) is written
    assert states == ["suspended", "connected"]


async def test_every_write_can_be_counted_and_can_crash() -> None:
    """Crash tests count the writes of a first run, then crash at the n-th write of another."""
    memory = MemoryZooKeeper()
    store = memory.session()
    seen: list[Sequence[Operation]] = []

    def crash_at_third(_: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
        seen.append(operations)
        if len(seen) == 3:
            raise SystemExit
        return InjectedFault.NONE

    memory.inject_fault = crash_at_third
    await store.create("/a")
    await store.get("/a")
    await store.multi([Check("/a", 0), Create("/b")])
    with pytest.raises(SystemExit):
        store.set("/a", b"never")
    assert seen == [(Create("/a"),), (Check("/a", 0), Create("/b")), (SetData("/a", b"never"),)]
    assert memory.snapshot() == {"/a": b"", "/b": b""}


async def test_requests_wait_while_the_ensemble_is_stopped() -> None:
    memory = MemoryZooKeeper()
    alive, expiring = memory.session(), memory.session()
    await expiring.create("/expiring", ephemeral=True)
    seen: list[WatchEvent] = []
    await alive.exists("/expiring", seen.append)
    memory.stop()
    waiting, rejected = alive.create("/later"), expiring.create("/never")
    while memory.has_pending_deliveries:  # deliveries take a few iterations of the loop
        await asyncio.sleep(0)
    assert not waiting.done()
    assert (alive.state, seen) == ("suspended", [WatchEvent(WatchEventKind.LOST, "/expiring")])

    memory.expire(expiring.session_id)
    memory.start()

    assert await waiting == "/later"
    with pytest.raises(SessionExpired):
        await rejected
    assert memory.snapshot() == {"/later": b""}
    assert (alive.state, expiring.state) == ("connected", "expired")


async def test_expired_session_cannot_write_after_it_reconnects() -> None:
    """A disconnected session expires unnoticed; after it reconnects, it cannot write."""
    memory = MemoryZooKeeper()
    old, new = memory.session(), memory.session()
    await old.create("/controller", b"1", ephemeral=True)
    old.disconnect()
    memory.expire(old.session_id)
    await new.create("/controller", b"2", ephemeral=True)
    write = old.set("/controller", b"1")
    await asyncio.sleep(0)
    assert old.state == "suspended"

    old.reconnect()

    with pytest.raises(SessionExpired):
        await write
    assert memory.snapshot() == {"/controller": b"2"}


async def test_session_closed_without_a_connection_keeps_ephemerals_until_it_expires() -> None:
    memory = MemoryZooKeeper()
    store = memory.session()
    await store.create("/mine", ephemeral=True)
    store.disconnect()
    waiting = store.get("/mine")
    await store.close()
    with pytest.raises(StoreClosed):
        await waiting
    assert memory.snapshot() == {"/mine": b""}
    memory.expire(store.session_id)
    assert memory.snapshot() == {}


PATHS = st.sampled_from(["/a", "/b", "/a/x", "/a/y", "/a/x/z", "/b/s"])
VERSIONS = st.sampled_from([-1, 0, 1, 2])
OPERATIONS = st.one_of(
    st.builds(Create, PATHS, st.binary(max_size=2), st.booleans(), st.booleans()),
    st.builds(SetData, PATHS, st.binary(max_size=2), VERSIONS),
    st.builds(Delete, PATHS, VERSIONS),
    st.builds(Check, PATHS, VERSIONS),
)


def snapshot(tree: DataTree) -> dict[str, object]:
    return {path: (tree.get(path).data, tree.get(path).stat()) for path in ["/", *tree.paths()]}


@given(st.lists(st.lists(OPERATIONS, max_size=6), max_size=12))
def test_failed_transaction_changes_nothing(transactions: list[list[Operation]]) -> None:
    tree = DataTree()
    for operations in transactions:
        before = snapshot(tree)
        try:
            tree.apply(operations, 7, ())
        except StoreError:
            assert snapshot(tree) == before
        for path in tree.paths():  # every znode is a child of its parent
            assert path.rpartition("/")[2] in tree.get(path.rpartition("/")[0] or "/").children
    with pytest.raises(NoNode):
        tree.get("/nothing")
