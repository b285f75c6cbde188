"""Tests of the event queue."""

from __future__ import annotations

import asyncio

import pytest

from kwire.cluster.controller.errors import NotController, QueueFull
from kwire.cluster.controller.events import ChangeEvent, EventQueue, ReloadEvent, RequestEvent


async def nothing() -> None:
    return


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
