"""The query and the column table of docs/capture.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import pytest

from kwire.capture import SCHEMA
from tests.docs.pages import DOCS, ROOT, blocks, run_interactive

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENT = DOCS / "capture.md"


def test_query_reads_the_capture_of_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    run_interactive(DOCUMENT)
    [query] = blocks(DOCUMENT, "sql")
    relation = duckdb.sql(query)
    assert relation is not None
    assert [row[:2] for row in relation.fetchall()] == [("full", 2), ("same", 2)]


def test_every_column_is_documented() -> None:
    table = DOCUMENT.read_text(encoding="utf-8").partition("| column | type | |")[2]
    names = [name for row in re.findall(r"^\| (`[^|]*) \|", table, flags=re.MULTILINE) for name in row.split(", ")]

    assert names == [f"`{name}`" for name in SCHEMA.names]
