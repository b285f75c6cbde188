"""The rows in docs/gold-explained.md equal the rows that the pipeline computes from the example.

`KWIRE_WRITE_GOLDEN=1` writes them into the page.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.paths import ROOT
from tests.pipeline import gold_example
from tests.pipeline.recorded import tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.nightly

PAGE = ROOT / "docs" / "gold-explained.md"

BLOCKS = {
    "polls": ("silver/polls", ["polled_at", "broker_id", "kind", "error"], "broker_id = 2"),
    "brokers": ("silver/brokers", ["at", "broker_id", "node_id", "change"], "node_id = 2"),
    "partitions": (
        "silver/partitions",
        ["at", "broker_id", "partition", "leader", "leader_epoch", "isr"],
        "partition = 0",
    ),
    "intervals": (
        "gold/intervals",
        ["valid_from", "valid_to", "leader", "leader_epoch", "isr", "under_replicated", "reported_by", "reports"],
        "partition = 0",
    ),
    "signals": (
        "gold/signals",
        ["at", "not_before", "kind", "reported_by", "broker_id", "other_broker_id", "partitions"],
        "kind not in ('poll_interval', 'first_response', 'partitions_appeared')",
    ),
    "incidents": (
        "gold/incidents",
        ["kind", "broker_id", "began_at", "first_sign_at", "first_sign", "ended_at", "leaders_moved", "cause"],
        "true",
    ),
}
"""The blocks of the page: their table, their columns, and the condition on their rows."""


@pytest.mark.parametrize("name", BLOCKS)
def test_page_shows_rows_of_example(name: str, spark: SparkSession, recorded_gold: str) -> None:
    table, columns, condition = BLOCKS[name]
    block = _markdown(_rows(spark, recorded_gold, table, columns, condition), columns)
    marked = re.compile(rf"(?<=<!-- {name} -->\n\n)(\|.*\n)*")
    page = PAGE.read_text()
    if os.environ.get("KWIRE_WRITE_GOLDEN"):
        PAGE.write_text(marked.sub(lambda _: block, page))
    else:
        found = marked.search(page)
        assert found is not None
        assert found[0] == block


def _rows(spark: SparkSession, out: str, table: str, columns: list[str], condition: str) -> list[Any]:
    rows = _read(spark, out, table).where(f"cluster_id = '{gold_example.CLUSTER}'").where(condition)
    order = [name for name in ("polled_at", "at", "valid_from", "began_at", "kind", *columns) if name in rows.columns]
    found = rows.select(*columns, *(name for name in order if name not in columns)).orderBy(*order).collect()
    return _at_changes(found, "kind") if table == "silver/polls" else found


def _at_changes(rows: list[Any], column: str) -> list[Any]:
    """Return the rows before and after each change of a column."""
    changed = [place for place in range(1, len(rows)) if rows[place][column] != rows[place - 1][column]]
    return [row for place, row in enumerate(rows) if place in changed or place + 1 in changed]


def _read(spark: SparkSession, out: str, table: str) -> DataFrame:
    return tables(spark, out).table(table.partition("/")[2])


def _markdown(rows: list[Any], columns: list[str]) -> str:
    lines = [" | ".join(columns), "|".join("---" for _ in columns)]
    lines += [" | ".join(_shown(row[name]) for name in columns) for row in rows]
    return "".join(f"| {line} |\n" if "---" not in line else f"|{line}|\n" for line in lines)


def _shown(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case datetime():
            return value.strftime("%H:%M:%S.%f")[:-5]
        case list():
            return "[" + ", ".join(map(_shown, value)) + "]"
        case tuple():  # a report: broker and time
            return " at ".join(map(_shown, value))
    return str(value)
