"""Requests take turns: among addresses, and among the connections of an address."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING

import pytest

from kwire.cluster import loop_shares
from kwire.cluster.controller.errors import QueueFull
from kwire.cluster.controller.events import ChangeEvent, EventQueue, RequestEvent
from kwire.cluster.loop_shares import ConnectionShare, LoopShares
from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from tests.cluster.controller.clusters import cluster_of, creation

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any


class Requests:
    """Requests in a queue, each with a name."""

    def __init__(self, limit: int = 100) -> None:
        self.queue = EventQueue(limit)
        self._names: dict[asyncio.Future[Any], str] = {}

    def add(self, share: ConnectionShare | None, *names: str) -> None:
        for name in names:
            response = self.queue.enqueue_request(nothing) if share is None else enqueue(self.queue, share)
            self._names[response] = name

    async def all(self) -> list[str]:
        """Return the names of the requests, and the paths of changes, in the order in which they are processed."""
        found = []
        while len(self.queue):
            event = await self.queue.next()
            if isinstance(event, RequestEvent):
                found.append(self._names[event.response])
            elif isinstance(event, ChangeEvent):
                found.append(event.path)
        return found


async def nothing() -> None:
    return


def enqueue(queue: EventQueue, share: ConnectionShare) -> asyncio.Future[Any]:
    """Add a request of a connection."""
    context = copy_context()
    context.run(ConnectionShare.current.set, share)
    return context.run(queue.enqueue_request, nothing)


def connection(address: str) -> ConnectionShare:
    return LoopShares.of_loop().connection(address)


async def test_addresses_take_turns_and_requests_of_one_keep_their_order() -> None:
    requests = Requests()
    requests.add(connection("10.0.0.1"), "a1", "a2", "a3")
    requests.add(connection("10.0.0.2"), "b1", "b2")
    requests.add(None, "own")
    assert await requests.all() == ["a1", "b1", "own", "a2", "b2", "a3"]


async def test_connections_of_an_address_share_its_turns() -> None:
    requests = Requests()
    first, second = connection("10.0.0.1"), connection("10.0.0.1")
    requests.add(first, "a1", "a2", "a3")
    requests.add(second, "b1")
    requests.add(connection("10.0.0.2"), "c1", "c2")
    assert await requests.all() == ["a1", "c1", "b1", "c2", "a2", "a3"]


async def test_request_is_processed_after_the_changes_that_were_known_before_it() -> None:
    requests = Requests()
    greedy = connection("10.0.0.1")
    requests.add(greedy, "a1", "a2")
    requests.queue.enqueue_change("/x")
    requests.add(greedy, "a3")
    requests.add(connection("10.0.0.2"), "b1")
    assert await requests.all() == ["a1", "/x", "b1", "a2", "a3"]


async def test_change_waits_only_for_the_requests_before_it() -> None:
    requests = Requests()
    greedy = connection("10.0.0.1")
    requests.add(greedy, "a1", "a2")
    requests.queue.enqueue_change("/x")
    requests.add(greedy, "a3", "a4")
    assert await requests.all() == ["a1", "a2", "/x", "a3", "a4"]


async def test_one_address_fills_at_most_half_of_the_queue() -> None:
    requests = Requests(limit=6)
    greedy = connection("10.0.0.1")
    requests.add(greedy, "a1", "a2", "a3")
    with pytest.raises(QueueFull, match="3 requests of your address are already waiting for the controller"):
        requests.add(connection("10.0.0.1"), "a4")
    requests.add(connection("10.0.0.2"), "b1")
    await requests.queue.next()
    requests.add(greedy, "a4")
    assert await requests.all() == ["b1", "a2", "a3", "a4"]


async def test_batch_does_not_wait_for_its_share_while_it_holds_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of others waited for seconds while a batch, which had used more than its share, waited for its turn."""
    monkeypatch.setattr(loop_shares, "IDLE_SHARE", 0.0)
    monkeypatch.setattr(loop_shares, "LONGEST_WAIT", 1e6)
    queue = EventQueue(100)
    greedy, active = connection("10.0.0.1"), connection("10.0.0.3")
    for share in (greedy, active):
        share.arrived(asyncio.get_running_loop().time())
    greedy.used = 1e5
    greedy.settle(asyncio.get_running_loop().time())
    enqueue(queue, greedy)
    event = await queue.next()
    assert isinstance(event, RequestEvent)
    batch = asyncio.get_running_loop().create_task(greedy.wait_due(), context=event.context)
    enqueue(queue, greedy)
    await asyncio.sleep(0)
    assert not queue.holds_up_others(greedy)
    assert not batch.done()
    enqueue(queue, connection("10.0.0.2"))
    async with asyncio.timeout(60):  # its share would let it wait for days
        await batch


async def test_command_of_a_client_does_not_wait_for_all_batches_of_another() -> None:
    """The controller answered them in the order in which it received them."""
    async with cluster_of(1) as cluster:
        controller = cluster.active
        await controller.drain()
        batch = [TopicAlteration(topic_name=f"unknown-{number}", partitions=2) for number in range(500)]

        def start(share: ConnectionShare, command: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
            context = copy_context()
            context.run(ConnectionShare.current.set, share)
            return asyncio.get_running_loop().create_task(command, context=context)

        greedy = connection("10.0.0.1")
        batches = [start(greedy, controller.alter_topics(batch)) for _ in range(20)]
        small = start(connection("10.0.0.2"), controller.create_topics([creation("small", (1,))]))
        await small
        assert sum(one.done() for one in batches) < 5
        await asyncio.gather(*batches)
