"""docs/polling.md says what is so: its examples run, and it names all that there is."""

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
from tests.client.polling import run

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).parents[2] / "docs" / "polling.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=10, partitions=5) as cluster:
        yield cluster


def names_of(containing: str) -> dict[str, Any]:
    """What the one block that contains this text defines."""
    [block] = [block for block in BLOCKS if containing in block]
    names: dict[str, Any] = {}
    exec(compile(block.partition("\nasyncio.run(")[0], "docs/polling.md", "exec"), names)
    return names


def test_the_first_example_tells_what_changes(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        watching = asyncio.create_task(names_of("async def watch")["watch"](cluster.bootstrap))
        printed = ""
        leaders = itertools.cycle((3, 1))
        while not re.search(r"broker 1: topic-00003-1: leader moved from \d to 3", printed):
            cluster.move_leader("topic-00003", 1, next(leaders))  # again, until its first view was seen
            await asyncio.sleep(1.5)
            printed += capsys.readouterr().out
        cluster.stop_broker(2, fence=False)
        while not re.search(r"broker 2 does not respond: .* cannot connect: \[Errno \d+\]", printed):
            await asyncio.sleep(0.1)
            printed += capsys.readouterr().out
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    run(work())


def test_what_else_can_be_asked() -> None:
    poller = names_of("topic_configs()")["poller"]
    assert [ask.interval for ask in poller.options.requests] == [10.0, 300.0, 60.0]


def test_what_was_recorded_is_there(cluster: FakeCluster, tmp_path: Path) -> None:
    run(names_of("async def record")["record"](cluster.bootstrap, tmp_path, 0.5))
    assert {row.broker_id for row in replay(tmp_path)} == {1, 2, 3}


def test_one_connection(cluster: FakeCluster) -> None:
    assert run(names_of("async def topics")["topics"](cluster.endpoint(1))) == list(cluster.state.topics)


def test_a_cluster_to_try_it_on(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = names_of("FakeCluster(")["cluster"]
    assert capsys.readouterr().out.strip() == cluster.bootstrap
    assert [broker.node_id for broker in cluster.state.brokers] == [1, 2]


@pytest.mark.parametrize(
    "name",
    sorted({*events.__all__, *errors.__all__, *Poll._fields, *(field.name for field in fields(Statistics))}),
)
def test_everything_is_named(name: str) -> None:
    assert f"`{name}`" in PAGE
