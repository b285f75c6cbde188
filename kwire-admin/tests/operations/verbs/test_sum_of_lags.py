"""The sum of the lags of a group."""

from __future__ import annotations

from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.groups import lag
from tests.client.admin.test_group_lags import Coordinator1, admin_of


async def test_sum_is_unknown_with_one_partition_and_says_why() -> None:
    warnings: list[str] = []
    async with admin_of(Coordinator1({0: 40, 1: 60}, {"a": (0, 1, 2)})) as admin:
        rows = await lag(Run(admin, warn=warnings.append), groups=["billing"], total=True)
    [row] = [row for row in rows if not hasattr(row, "error")]
    assert getattr(row, "lag", 0) is None
    [warning] = warnings
    assert "1 of 3 partitions is not known (orders-2: no committed offset); the others add up to 100" in warning
