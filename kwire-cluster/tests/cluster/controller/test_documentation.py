"""The examples of docs/controller.md run."""

from __future__ import annotations

import re
from typing import Any

from kwire_cluster.controller.backend import Outcome
from tests.cluster.controller.clusters import cluster_of
from tests.cluster.memory_store import MemoryZooKeeper
from tests.paths import ROOT

PAGE = ROOT / "docs" / "controller.md"


def examples() -> dict[str, Any]:
    """Return the names that the code blocks of the page define."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


async def test_example_runs_a_controller() -> None:
    memory = MemoryZooKeeper()
    store = memory.session()

    await examples()["run_controller"](store)

    assert memory.snapshot()["/controller_epoch"] == b"1"
    assert not memory.tree.exists("/controller")
    await store.close()


async def test_example_creates_a_topic() -> None:
    async with cluster_of(2) as cluster:
        assert await examples()["create_orders"](cluster.active) == [Outcome("orders")]
        assert cluster.topics() == ["orders"]
