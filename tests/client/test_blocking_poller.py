"""Polling without asyncio."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kwire.capture import Capture, replay
from kwire.client import BlockingPoller
from kwire.client.differences import LeaderMoved
from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from pathlib import Path


def test_polls_are_read_one_after_the_other(tmp_path: Path) -> None:
    with (
        FakeCluster(2, topics=3, partitions=2) as cluster,
        Capture(tmp_path) as capture,
        BlockingPoller(cluster.bootstrap, interval=0.05, capture=capture) as poller,
    ):
        first = next(poller)
        assert first.message == cluster.state.metadata()
        cluster.move_leader("topic-00000", 0, 2)
        changed = next(poll for poll in poller if poll.differences)
        assert changed.differences == (LeaderMoved("topic-00000", 0, 1, 2, 0, 1),)
        assert poller.broker_ids == (1, 2)
        assert poller.statistics.polls >= 3
    assert sum(1 for _ in replay(tmp_path)) == poller.statistics.polls


def test_one_may_wait_for_a_while_only() -> None:
    with (
        FakeCluster(1, topics=3) as cluster,
        BlockingPoller(cluster.bootstrap, interval=3600.0, timeout=60.0) as poller,
    ):
        assert poller.read(10.0) is not None
        assert poller.read(0.05) is None


def test_it_says_when_it_is_not_running() -> None:
    poller = BlockingPoller("127.0.0.1:1")
    with pytest.raises(RuntimeError, match="not running"):
        next(poller)
    with poller:
        assert poller.read(10.0) is not None  # nobody listens: silence is data
    with pytest.raises(RuntimeError, match="not running"):
        next(poller)
    assert "kwire-poller" not in {thread.name for thread in threading.enumerate()}
