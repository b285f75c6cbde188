"""Generated changes of topics and leaders on nodes in memory: the dry run says what the real run does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cluster.controller.clusters import SETTINGS
from tests.cluster.node.memory_nodes import memory_nodes
from tests.operations.verbs.dry_runs import ACCEPTED, check_case, generated_cases

if TYPE_CHECKING:
    from pathlib import Path

IN_CONTROLLER = ("topics", "partitions", "elections")
"""Nouns of verbs whose requests the controller answers; the others need a session with ZooKeeper, or records."""


@pytest.mark.parametrize("seed", range(3))
async def test_dry_run_says_what_the_real_run_does(seed: int, tmp_path: Path) -> None:
    refused = accepted = 0
    async with memory_nodes(1, 2, settings=SETTINGS) as (cluster, admin):
        for case in (ACCEPTED[0], *generated_cases(seed, rounds=8)):
            if case.startswith(IN_CONTROLLER):
                real = await check_case(admin, case, {"folder": tmp_path})
                await cluster.wait_idle()
                refused += real.is_refused
                accepted += not real.is_refused
    assert min(refused, accepted) > 8
