"""Recordings whose types Spark reads as other values are refused before it starts, with the column and the file."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire_pipeline.cli.pipeline_inputs import _check_recording

if TYPE_CHECKING:
    from pathlib import Path

AT = datetime(2026, 11, 21, 10, tzinfo=UTC)
GOOD = pa.table({"polled_at": pa.array([AT], pa.timestamp("us", "UTC")), "frame": [b"\0"], "cluster_id": ["c"]})


def test_files_of_one_recording_may_be_stored_differently(tmp_path: Path) -> None:
    variants = [
        GOOD,
        GOOD.select(["frame", "polled_at"]),
        GOOD.append_column("poller_id", [["p"]]),
        GOOD.set_column(2, "cluster_id", GOOD["cluster_id"].cast(pa.large_string())),
        GOOD.set_column(2, "cluster_id", GOOD["cluster_id"].dictionary_encode()),
        GOOD.set_column(0, "polled_at", GOOD["polled_at"].cast(pa.timestamp("ms", "UTC"))),
    ]
    for number, rows in enumerate(variants):
        pq.write_table(rows, tmp_path / f"{number}.parquet")
    pq.write_table(GOOD, tmp_path / "int96.parquet", use_deprecated_int96_timestamps=True)
    (tmp_path / "_SUCCESS").write_text("")

    _check_recording(str(tmp_path))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("polled_at", pa.array([AT], pa.timestamp("ns", "UTC")), r"polled_at of .* is timestamp\[ns.*expected .*us"),
        ("polled_at", pa.array([date(2026, 11, 21)]), "polled_at is date32"),
        ("frame", pa.array(["text"]), "frame is string"),
        ("cluster_id", pa.array([7]), "cluster_id is int64"),
    ],
)
def test_mixed_folder_is_refused(tmp_path: Path, column: str, values: pa.Array, message: str) -> None:
    pq.write_table(GOOD, tmp_path / "a.parquet")
    index = GOOD.schema.get_field_index(column)
    pq.write_table(GOOD.set_column(index, column, values), tmp_path / "b.parquet")

    with pytest.raises(ValueError, match=message):
        _check_recording(str(tmp_path))


def test_folder_with_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(GOOD, tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("polled_at\n")

    with pytest.raises(ValueError, match=r"b\.csv is not a Parquet file"):
        _check_recording(str(tmp_path))
