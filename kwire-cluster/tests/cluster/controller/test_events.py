"""Tests of the event queue."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import pytest

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire_cluster.controller.errors import NotController, QueueFull
from kwire_cluster.controller.events import ChangeEvent, EventQueue, ReloadEvent, RequestEvent
from kwire_cluster.request_quotas import Account, RequestQuotas, current_account
from tests.cluster.controller.clusters import cluster_of, creation

if TYPE_CHECKING:
    from collections.abc import Coroutine


async def nothing() -> None:
    return


def enqueue(queue: EventQueue, account: Account) -> asyncio.Future[Any]:
    """Add a request of a client."""
    context = copy_context()
    context.run(current_account.set, account)
    return context.run(queue.enqueue_request, nothing)


class Requests:
    """Requests in a queue, each with a name."""

    def __init__(self, limit: int = 100) -> None:
        self.queue = EventQueue(limit)
        self._names: dict[asyncio.Future[Any], str] = {}

    def add(self, account: Account | None, *names: str) -> None:
        for name in names:
            response = self.queue.enqueue_request(nothing) if account is None else enqueue(self.queue, account)
            self._names[response] = name

    async def take(self) -> str:
        """Return the name of the next request, or the path of the next change."""
        event = await self.queue.next()
        if isinstance(event, RequestEvent):
            return self._names[event.response]
        assert isinstance(event, ChangeEvent)
        return event.path

    async def all(self) -> list[str]:
        """Return the names of the requests, and the paths of changes, in the order in which they are processed."""
        return [await self.take() for _ in range(len(self.queue))]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_changes_are_merged_and_a_reload_comes_first() -> None:
    queue = EventQueue(2)
    queue.enqueue_change("/a")
    queue.enqueue_request(nothing)
    queue.enqueue_change("/a")
    queue.enqueue_change("/b/1")
    queue.enqueue_change("/b/2")
    queue.enqueue_reload()
    assert await queue.next() == ReloadEvent()
    assert await queue.next() == ChangeEvent("/a")
    assert queue.take_changes("/b/") == ["/b/1", "/b/2"]
    assert isinstance(await queue.next(), RequestEvent)
    queue.enqueue_change("/a")
    assert await queue.next() == ChangeEvent("/a")
    assert len(queue) == 0


async def test_number_of_requests_is_limited() -> None:
    queue = EventQueue(2)
    first, second = queue.enqueue_request(nothing), queue.enqueue_request(nothing)
    with pytest.raises(QueueFull) as full:
        queue.enqueue_request(nothing)
    assert (full.value.code, full.value.limit) == (21, 2)
    for number in range(100):
        queue.enqueue_change(f"/{number}")
    await queue.next()
    queue.enqueue_request(nothing).cancel()
    waiting = asyncio.ensure_future(queue.next())
    await waiting
    queue.close(lambda: NotController(7))
    assert await queue.next() is None
    assert not first.done()
    assert not second.done()


async def test_close_fails_waiting_requests() -> None:
    queue = EventQueue(2)
    response = queue.enqueue_request(nothing)
    consumer = EventQueue(1)
    waiting = asyncio.ensure_future(consumer.next())
    await asyncio.sleep(0)
    consumer.close(lambda: NotController(7))
    assert await waiting is None
    queue.close(lambda: NotController(7))
    with pytest.raises(NotController):
        await response


async def test_clients_take_turns_and_requests_of_one_keep_their_order() -> None:
    requests, quotas = Requests(), RequestQuotas()
    requests.add(quotas.account("10.0.0.1"), "a1", "a2", "a3")
    requests.add(quotas.account("10.0.0.2"), "b1", "b2")
    requests.add(quotas.account("10.0.0.2", "User:c"), "c1")
    requests.add(None, "own")
    assert await requests.all() == ["a1", "b1", "c1", "own", "a2", "b2", "a3"]


async def test_request_is_processed_after_the_changes_that_were_known_before_it() -> None:
    requests, quotas = Requests(), RequestQuotas()
    greedy = quotas.account("10.0.0.1")
    requests.add(greedy, "a1", "a2")
    requests.queue.enqueue_change("/x")
    requests.add(greedy, "a3")
    requests.add(quotas.account("10.0.0.2"), "b1")
    assert await requests.all() == ["a1", "/x", "b1", "a2", "a3"]


async def test_change_waits_only_for_the_requests_before_it() -> None:
    requests, greedy = Requests(), RequestQuotas().account("10.0.0.1")
    requests.add(greedy, "a1", "a2")
    requests.queue.enqueue_change("/x")
    requests.add(greedy, "a3", "a4")
    assert await requests.all() == ["a1", "a2", "/x", "a3", "a4"]


async def test_one_client_fills_at_most_half_of_the_queue() -> None:
    requests, quotas = Requests(limit=6), RequestQuotas()
    greedy = quotas.account("10.0.0.1")
    requests.add(greedy, "a1", "a2", "a3")
    with pytest.raises(QueueFull, match="3 requests of this client are already waiting for the controller"):
        requests.add(greedy, "a4")
    requests.add(quotas.account("10.0.0.2"), "b1")
    await requests.queue.next()
    requests.add(greedy, "a4")
    assert await requests.all() == ["b1", "a2", "a3", "a4"]


async def test_requests_of_a_client_over_its_quota_wait_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwire_cluster.request_quotas.IDLE_LOAD", 0.0)
    clock = Clock()
    requests, quotas = Requests(), RequestQuotas(clock)
    greedy, other, third = (quotas.account(f"10.0.0.{number}") for number in range(3))
    requests.add(greedy, "a1", "a2")
    requests.add(other, "b1")
    assert await requests.take() == "a1"
    other.charge(0.001)
    clock.now += 1.0
    greedy.charge(1.0)  # by its first request
    requests.add(third, "c1")
    requests.queue.enqueue_change("/x")
    assert [await requests.take() for _ in range(3)] == ["b1", "c1", "/x"]
    last = asyncio.ensure_future(requests.take())
    await asyncio.sleep(0.05)
    assert not last.done()
    clock.now = greedy.throttled_until
    assert await last == "a2"


async def test_close_fails_requests_of_clients_over_their_quotas() -> None:
    clock = Clock()
    quotas, queue = RequestQuotas(clock), EventQueue(10)
    greedy, other = quotas.account("10.0.0.1"), quotas.account("10.0.0.2")
    other.charge(0.001)
    clock.now += 1.0
    greedy.charge(1.0)
    response = enqueue(queue, greedy)
    queue.close(lambda: NotController(7))
    with pytest.raises(NotController):
        await response
    clock.now = greedy.throttled_until
    await asyncio.sleep(0.05)
    assert await queue.next() is None


async def test_command_of_a_client_does_not_wait_for_all_batches_of_another() -> None:
    """The controller answered them in the order in which it received them."""
    async with cluster_of(1) as cluster:
        controller = cluster.active
        await controller.drain()
        batch = [TopicAlteration(topic_name=f"unknown-{number}", partitions=2) for number in range(500)]
        quotas = RequestQuotas()

        def start(account: Account, command: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
            return asyncio.get_running_loop().create_task(account.process(command))

        greedy = quotas.account("10.0.0.1")
        batches = [start(greedy, controller.alter_topics(batch)) for _ in range(20)]
        small = start(quotas.account("10.0.0.2"), controller.create_topics([creation("small", (1,))]))
        await small
        assert sum(task.done() for task in batches) < 5
        await asyncio.gather(*batches)
