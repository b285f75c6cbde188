"""Columns of tagged structs that are not nullable: a body without the struct has its default."""

from __future__ import annotations

import pyarrow as pa

import kwire
from tests.proof.test_tagged_structs import DEFAULT, DEFAULT_IN_FULL, Answer


def test_columns_have_the_default_of_the_struct() -> None:
    frames = [DEFAULT, DEFAULT_IN_FULL, bytes.fromhex("01 01 09 00000007 00000002 00"), DEFAULT]
    rows = pa.record_batch(kwire.columns(Answer, frames, version=0, rows="")).to_pylist()
    assert [row["leader"] for row in rows] == [
        {"id": -1, "epoch": -1, "rack": None},
        {"id": -1, "epoch": -1, "rack": None},
        {"id": 7, "epoch": 2, "rack": None},
        {"id": -1, "epoch": -1, "rack": None},
    ]
