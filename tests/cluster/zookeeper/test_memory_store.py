"""Faults on demand: what only the ensemble in memory can be told to do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.zookeeper import Check, Create, Delete, SetData, WatchEvent
from kwire.cluster.zookeeper.data_tree import Tree
from kwire.cluster.zookeeper.errors import ConnectionLost, NoNode, SessionExpired, StoreClosed, StoreError
from kwire.cluster.zookeeper.memory_store import MemoryStore, MemoryZooKeeper, Verdict
from tests.cluster.zookeeper.ensembles import in_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.cluster.zookeeper.operations import Operation


@pytest.mark.parametrize(("verdict", "written"), [("lose request", False), ("lose answer", True)])
@in_loop
async def test_a_write_is_lost_on_its_way_there_or_back(verdict: Verdict, written: bool) -> None:
    memory = MemoryZooKeeper()
    store, other = memory.session(), memory.session()
    verdicts: list[Verdict] = ["serve", verdict]
    memory.interrupt = lambda *_: verdicts.pop(0) if verdicts else "serve"
    states: list[str] = []
    store.listen(states.append)

    first, second, third = store.create("/first"), store.create("/second"), store.create("/third")

    # The answer to the first was on its way when the connection ended; the third was asked for without one.
    for doubtful in (first, second):
        with pytest.raises(ConnectionLost):
            await doubtful
    assert await third == "/third"
    assert await other.exists("/first") is not None
    assert (await other.exists("/second") is not None) is written
    assert states == ["suspended", "connected"]


@in_loop
async def test_every_write_can_be_counted_and_be_the_last() -> None:
    """What tests of crashes need: a dry run counts, and then the n-th write is where the process dies."""
    memory = MemoryZooKeeper()
    store = memory.session()
    seen: list[Sequence[Operation]] = []

    def die_at_the_third(_: MemoryStore, operations: Sequence[Operation]) -> Verdict:
        seen.append(operations)
        if len(seen) == 3:
            raise SystemExit
        return "serve"

    memory.interrupt = die_at_the_third
    await store.create("/a")
    await store.get("/a")
    await store.multi([Check("/a", 0), Create("/b")])
    with pytest.raises(SystemExit):
        store.set("/a", b"never")
    assert seen == [(Create("/a"),), (Check("/a", 0), Create("/b")), (SetData("/a", b"never"),)]
    assert memory.snapshot() == {"/a": b"", "/b": b""}


@in_loop
async def test_an_ensemble_that_is_down_keeps_sessions_waiting() -> None:
    memory = MemoryZooKeeper()
    living, dying = memory.session(), memory.session()
    await dying.create("/dying", ephemeral=True)
    seen: list[WatchEvent] = []
    await living.exists("/dying", seen.append)
    memory.stop()
    waiting, hopeless = living.create("/later"), dying.create("/never")
    await asyncio.sleep(0.01)
    assert not waiting.done()
    assert (living.state, seen) == ("suspended", [WatchEvent("lost", "/dying")])

    memory.expire(dying.session_id)
    memory.start()

    assert await waiting == "/later"
    with pytest.raises(SessionExpired):
        await hopeless
    assert memory.snapshot() == {"/later": b""}
    assert (living.state, dying.state) == ("connected", "expired")


@in_loop
async def test_two_who_both_believe_to_be_the_owner() -> None:
    """One is cut off and expires without hearing of it; when it comes back it can write nothing."""
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


@in_loop
async def test_a_session_closed_without_a_connection_leaves_its_nodes_until_it_expires() -> None:
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


def facts(tree: Tree) -> dict[str, object]:
    return {path: (tree.node(path).data, tree.node(path).stat()) for path in ["/", *tree.paths()]}


@given(st.lists(st.lists(OPERATIONS, max_size=6), max_size=12))
def test_a_transaction_that_is_refused_leaves_no_trace(transactions: list[list[Operation]]) -> None:
    tree = Tree()
    for operations in transactions:
        before = facts(tree)
        try:
            tree.apply(operations, 7, ())
        except StoreError:
            assert facts(tree) == before
        for path in tree.paths():  # and the tree is one
            assert path.rpartition("/")[2] in tree.node(path.rpartition("/")[0] or "/").children
    with pytest.raises(NoNode):
        tree.node("/nothing")
