"""The examples of docs/controller.md run."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from kwire.cluster.controller.backend import Outcome
from tests.cluster.controller.clusters import cluster_of

PAGE = Path(__file__).parents[3] / "docs" / "controller.md"


async def test_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lifecycle, request = blocks
    async with cluster_of(2) as cluster:
        await _run(lifecycle, {"store": cluster.memory.session(), "send": cluster.send})

        names = await _run(request, {"controller": cluster.active})
        assert names["outcomes"] == [Outcome("orders")]


async def _run(code: str, names: dict[str, object]) -> dict[str, object]:
    pending = eval(compile(code, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(pending):
        await pending
    return names
