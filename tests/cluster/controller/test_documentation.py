"""The examples of ``docs/controller.md`` run as they stand there."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

from kwire.cluster.controller.backend import Outcome
from tests.cluster.controller.clusters import cluster_of, run

PAGE = Path(__file__).parents[3] / "docs" / "controller.md"


def test_the_examples_of_the_page_run() -> None:
    async def work() -> None:
        blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        assert len(blocks) == 2
        async with cluster_of(2) as cluster:
            names: dict[str, Any] = {"store": cluster.memory.session(), "send": cluster.send}
            for block in blocks:
                code = compile(block, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                pending = eval(code, names)
                if inspect.iscoroutine(pending):
                    await pending
                names["controller"] = cluster.active
            assert names["outcomes"] == [Outcome("t")]

    run(work())
