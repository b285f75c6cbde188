"""Threads can share plans."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

import kwire
from kwire.declare import Message, Struct, array, int32, string
from tests.soundness.declared import Tree, full_tree, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

THREADS = 8


@pytest.fixture(autouse=True)
def hasty_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_share_a_plan() -> None:
    start = Barrier(THREADS)

    def work(thread: int) -> None:
        mine = replaced(full_tree(), name=f"thread {thread}", grid=((thread,) * thread,))
        body = kwire.encode(mine, version=1)
        start.wait()
        for _ in range(300):
            decoded = kwire.decode(Tree, body, version=1)
            assert decoded == mine
            assert kwire.encode(decoded, version=1) == body

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def test_concurrent_first_use_of_a_class() -> None:
    for _ in range(30):

        class Inner(Struct):
            number: int32
            text: string = ""

        class Outer(Message, versions="0"):
            inners: array[Inner]

        start = Barrier(THREADS)

        def work(thread: int, outer: type[Outer] = Outer, start: Barrier = start) -> tuple[int, str]:
            body = b"\x00\x00\x00\x01" + thread.to_bytes(4, "big") + b"\x00\x01t"
            start.wait()
            decoded = kwire.decode(outer, body, version=0)
            assert kwire.encode(decoded, version=0) == body
            (inner,) = decoded.inners
            return inner.number, inner.text

        with ThreadPoolExecutor(THREADS) as pool:
            assert list(pool.map(work, range(THREADS))) == [(thread, "t") for thread in range(THREADS)]


def test_concurrent_first_construction() -> None:
    for _ in range(30):

        class Fresh(Struct):
            number: int32
            text: string = ""

        start = Barrier(THREADS)

        def work(thread: int, fresh: type[Fresh] = Fresh, start: Barrier = start) -> int:
            start.wait()
            return fresh(number=thread).number

        with ThreadPoolExecutor(THREADS) as pool:
            assert list(pool.map(work, range(THREADS))) == list(range(THREADS))


def test_shared_objects_are_freed_by_the_last_thread() -> None:
    body = kwire.encode(full_tree(), version=1)
    shared = [kwire.decode(Tree, body, version=1) for _ in range(500)]

    def work(_: int) -> int:
        mine = list(shared)
        return len({hash(tree) for tree in mine} | {hash(tree.home) for tree in mine})

    with ThreadPoolExecutor(THREADS) as pool:
        results = pool.map(work, range(THREADS))
        shared.clear()
        assert all(result in (0, 2) for result in results)
