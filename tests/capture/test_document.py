"""The examples and the column table of docs/capture.md."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import duckdb
import pytest

from kwire.capture import SCHEMA

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = (ROOT / "docs" / "capture.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, flags=re.DOTALL | re.MULTILINE)


def test_examples_print_the_documented_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks("python")), {}, "capture.md", None, None)
    output: list[str] = []

    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=output.append)

    assert result.attempted > 10
    assert result.failed == 0, "".join(output)
    [query] = blocks("sql")
    relation = duckdb.sql(query)
    assert relation is not None
    assert [row[:2] for row in relation.fetchall()] == [("full", 2), ("same", 2)]


def test_every_column_is_documented() -> None:
    table = DOCUMENT.partition("| column | type | |")[2]
    names = [name for row in re.findall(r"^\| (`[^|]*) \|", table, flags=re.MULTILINE) for name in row.split(", ")]

    assert names == [f"`{name}`" for name in SCHEMA.names]
