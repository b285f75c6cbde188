"""What only a real server shows: identities, access control lists, roots, and a loop that is never held up."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from kwire.zookeeper import Acl, Credentials, connect, make_path
from kwire.zookeeper.errors import NotAuthorized, ServerRefused
from kwire.zookeeper.operations import READABLE_BY_ALL, Permission
from tests.zookeeper.ensembles import ServerEnsemble, in_loop, until

if TYPE_CHECKING:
    from kwire.zookeeper.embedded import Embedded


@in_loop
async def test_a_root_is_before_every_path(server: Embedded) -> None:
    plain = await connect(server.hosts)
    await make_path(plain, "/rooted/kafka")
    rooted = await connect(f"{server.hosts}/rooted/kafka")

    assert await rooted.create("/brokers", b"b") == "/brokers"
    assert await rooted.create("/n_", sequential=True) == "/n_0000000001"
    seen: list[str] = []
    await rooted.get("/brokers", lambda event: seen.append(event.path))
    await plain.set("/rooted/kafka/brokers", b"c")

    assert (await rooted.get("/brokers")).data == b"c"
    assert seen == ["/brokers"]
    await rooted.close()
    await plain.close()


@in_loop
async def test_what_is_created_belongs_to_who_created_it(server: Embedded) -> None:
    owner = await connect(server.hosts, credentials=[Credentials("digest", "kwire:secret")], acl=READABLE_BY_ALL)
    stranger = await connect(server.hosts)
    await owner.create("/owned", b"1")
    await owner.create("/shared", acl=(Acl(Permission.ALL, "world", "anyone"),))

    assert (await stranger.get("/owned")).data == b"1"
    for refused in (stranger.set("/owned", b"2"), stranger.create("/owned/child")):
        with pytest.raises(NotAuthorized) as failed:
            await refused
        assert failed.value.path.startswith("/owned")
    await owner.set("/owned", b"2")
    await stranger.set("/shared", b"2")
    assert "secret" not in repr(Credentials("digest", "kwire:secret"))
    await owner.close()
    await stranger.close()


@in_loop
async def test_other_refusals_keep_the_servers_code(server: Embedded) -> None:
    store = await connect(server.hosts)
    with pytest.raises(ServerRefused) as failed:
        await store.create("/bad-acl", acl=(Acl(31, "no such scheme", "x"),))
    assert (failed.value.code, failed.value.name, failed.value.path) == (-114, "InvalidACLError", "/bad-acl")
    with pytest.raises(ServerRefused, match=r"/\ue000: refused by ZooKeeper: BadArgumentsError \(-8\)"):
        await store.create("/\ue000")
    assert store.state == "connected"
    await store.close()


@in_loop
async def test_the_loop_goes_on_while_much_is_asked_for(server: Embedded) -> None:
    """A pipe between the threads takes a few hundred requests, and then blocks who writes to it."""
    store = await connect(server.hosts)
    await store.create("/much")
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began)

    ticking = asyncio.create_task(tick())
    began = time.perf_counter()
    await store.get_many(["/much"] * 3000)
    took = time.perf_counter() - began
    ticking.cancel()
    assert longest < took / 3
    await store.close()


@in_loop
async def test_no_thread_outlives_its_store(server: Embedded) -> None:
    before = set(threading.enumerate())
    ensemble = ServerEnsemble(server)
    store = await ensemble.session()
    await ensemble.expire(store)
    await until(lambda: store.state == "expired")
    await ensemble.close()
    lasting = {thread.name for thread in set(threading.enumerate()) - before if "zookeeper" in thread.name}
    assert not lasting


@in_loop
async def test_closing_without_a_connection_does_not_wait_for_one(server: Embedded) -> None:
    ensemble = ServerEnsemble(server)
    store = await ensemble.session()
    ensemble.proxy(store).accepts = False
    ensemble.cut(store)
    await until(lambda: store.state == "suspended")
    waiting = store.get("/")
    began = time.monotonic()
    await store.close()
    assert time.monotonic() - began < 3
    assert "closed" in str(waiting.exception())
    await ensemble.close()
