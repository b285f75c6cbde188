"""The examples of docs/polling.md run, and the page names every event, error, and field."""

from __future__ import annotations

import asyncio
import itertools
import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.capture import replay
from kwire.client import Poll, Statistics
from kwire.metadata import events
from kwire.protocol import errors
from kwire.testing import FakeCluster
from tests.eventually import eventually
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).parents[2] / "docs" / "polling.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=10, partitions=5) as cluster:
        yield cluster


def names_of(containing: str) -> dict[str, Any]:
    """Run the block of the page that contains a text, and return its names."""
    [block] = [block for block in BLOCKS if containing in block]
    names: dict[str, Any] = {}
    exec(compile(block.partition("\nasyncio.run(")[0], "docs/polling.md", "exec"), names)
    return names


async def test_first_example_prints_changes(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    watching = asyncio.create_task(names_of("async def watch")["watch"](cluster.bootstrap))
    printed = ""
    leaders = itertools.cycle((3, 1))
    while not re.search(r"broker 1: topic-00003-1: leader moved from \d to 3", printed):
        cluster.move_leader("topic-00003", 1, next(leaders))  # until the first poll has been reported
        await asyncio.sleep(1.5)
        printed += capsys.readouterr().out
    cluster.stop_broker(2, fence=False)
    while not re.search(r"broker 2 does not respond: .* cannot connect: \[Errno \d+\]", printed):
        await asyncio.sleep(0.1)
        printed += capsys.readouterr().out
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


def test_example_of_further_requests() -> None:
    poller = names_of("topic_configs()")["poller"]
    assert [request.interval for request in poller.options.requests] == [10.0, 300.0, 60.0]


async def test_example_of_a_capture(cluster: FakeCluster, tmp_path: Path) -> None:
    recording = asyncio.create_task(names_of("async def record")["record"](cluster.bootstrap, tmp_path, 3600))
    await eventually(lambda: any(tmp_path.glob("_tail*")), "the capture is open")
    await eventually(lambda: {row.broker_id for row in replay(tmp_path)} >= {1, 2, 3}, "every broker was polled")
    recording.cancel()
    await asyncio.wait([recording])
    assert recording.cancelled()


async def test_example_of_one_connection(cluster: FakeCluster) -> None:
    assert await names_of("async def topics")["topics"](cluster.endpoint(1)) == list(cluster.state.topics)


def test_example_of_a_fake_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = names_of("FakeCluster(")["cluster"]
    assert capsys.readouterr().out.strip() == cluster.bootstrap
    assert [broker.node_id for broker in cluster.state.brokers] == [1, 2]


@for_rows(
    "name",
    sorted({*events.__all__, *errors.__all__, *Poll._fields, *(field.name for field in fields(Statistics))}),
)
def test_page_names_everything(name: str) -> None:
    assert f"`{name}`" in PAGE
