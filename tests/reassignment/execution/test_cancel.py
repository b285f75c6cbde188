"""`reassign-partitions cancel` ends what `status` lists, also moves that another tool has started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient, Outcomes, PartitionMove, ReassignmentStatus
from kwire.operations.parameters import NotFound
from kwire.operations.run import Run
from kwire.operations.verbs.reassign_partitions.cancel import cancel
from kwire.testing import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Moving(AdminClient):
    """A client of a cluster with moves; the fake cluster has no requests for them."""

    moves: Mapping[int, PartitionMove]
    cancelled: Mapping[str, Sequence[int]] | None = None

    async def list_reassignments(self, targets: Any = None) -> list[ReassignmentStatus]:
        del targets
        return [ReassignmentStatus("orders", dict.fromkeys(self.moves, "moving"), None, self.moves)]

    async def cancel_reassignments(self, partitions: Mapping[str, Sequence[int]]) -> Outcomes:
        self.cancelled = partitions
        return Outcomes({f"{topic}-{index}": None for topic, indexes in partitions.items() for index in indexes})


async def test_moves_of_other_tools_are_cancelled(tmp_path: Path) -> None:
    questions: list[str] = []
    with FakeCluster(brokers=1) as cluster:
        async with await Moving.open(cluster.bootstrap) as admin:
            admin.moves = {3: PartitionMove((1, 2), (2,), ()), 1: PartitionMove((1, 2), (2,), ())}
            await cancel(Run(admin, dry_run=True), journal=tmp_path)
            assert admin.cancelled is None
            [row] = await cancel(Run(admin, confirm=questions.append), journal=tmp_path)
            assert admin.cancelled == {"orders": [1, 3]}
            assert (getattr(row, "phase", None), getattr(row, "moves", None)) == ("cancelled", 2)
            assert "orders-1, orders-3" in questions[0]
            admin.moves = {}
            with pytest.raises(NotFound, match="has no run of this cluster, and no partition is being moved"):
                await cancel(Run(admin), journal=tmp_path)
