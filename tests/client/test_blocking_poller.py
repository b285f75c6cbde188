"""Polling without asyncio."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from kwire.capture import Capture, replay
from kwire.client import BlockingPoller
from kwire.metadata.events import LeaderMoved
from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from pathlib import Path


def test_polls_are_read_in_order(tmp_path: Path) -> None:
    with (
        FakeCluster(2, topics=3, partitions=2) as cluster,
        Capture(tmp_path) as capture,
        BlockingPoller(cluster.bootstrap, interval=0.05, capture=capture) as poller,
    ):
        first = next(poller)
        assert first.message == cluster.state.metadata()
        cluster.move_leader("topic-00000", 0, 2)
        changed = next(poll for poll in poller if poll.events)
        assert changed.events == (LeaderMoved("topic-00000", 0, 1, 2, 0, 1),)
        assert poller.broker_ids == (1, 2)
        assert poller.statistics.polls >= 3
    assert sum(1 for _ in replay(tmp_path)) == poller.statistics.polls


def test_read_times_out() -> None:
    with (
        FakeCluster(1, topics=3) as cluster,
        BlockingPoller(cluster.bootstrap, interval=3600.0, timeout=60.0) as poller,
    ):
        assert poller.read(10.0) is not None
        assert poller.read(0.05) is None


def test_timeout_of_a_request_factory_is_raised_to_the_reader() -> None:
    def make(metadata: object, broker_id: int) -> Any:
        del metadata, broker_id
        raise TimeoutError("of the factory")

    with (
        FakeCluster(1, topics=3) as cluster,
        BlockingPoller(cluster.bootstrap, interval=0.05, requests=[(make, 0.05)]) as poller,
        pytest.raises(TimeoutError, match="of the factory"),
    ):
        list(iter(lambda: poller.read(60.0), None))


def test_poller_that_is_not_running_is_an_error() -> None:
    poller = BlockingPoller("127.0.0.1:1")
    with pytest.raises(RuntimeError, match="not running"):
        next(poller)
    with pytest.raises(RuntimeError, match="not running"):
        poller.read(1.0)
    with poller:
        assert poller.read(10.0) is not None  # refused connections are polls with an error
    assert "kwire-poller" not in threads()


def test_iteration_in_another_thread_ends_with_the_block() -> None:
    with FakeCluster(1, topics=3) as cluster, ThreadPoolExecutor(2) as readers:
        with BlockingPoller(cluster.bootstrap, interval=3600.0, timeout=60.0) as poller:
            assert next(poller).error is None
            iterating = readers.submit(list, poller)
            reading = readers.submit(poller.read, 3600.0)
            with pytest.raises(TimeoutError):
                iterating.result(0.2)  # it waits for the next poll
        assert iterating.result(30.0) == []
        assert reading.result(30.0) is None
        assert list(poller) == []
        assert poller.read(1.0) is None


def test_poller_can_be_used_only_once() -> None:
    poller = BlockingPoller("127.0.0.1:1")
    with poller:
        with pytest.raises(RuntimeError, match="can be used only once"), poller:
            pass
        assert poller.read(10.0) is not None
    with pytest.raises(RuntimeError, match="can be used only once"), poller:
        pass
    assert "kwire-poller" not in threads()


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}
