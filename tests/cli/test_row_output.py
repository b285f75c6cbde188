"""Rows as tables: readable numbers on a terminal, exact ones elsewhere, and columns without values."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire.cli.colors import Paint
from kwire.cli.row_output import print_rows
from kwire.operations.rows import column
from tests.for_rows import for_rows

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True)
class Measured:
    size: int | None = field(metadata=column(unit="bytes"))
    timeout_ms: int | None = field(metadata=column(unit="ms"))
    left: float | None = field(metadata=column(unit="s"))
    started_ms: int | None = field(metadata=column(unit="time"))
    rack: str | None = field(default=None, metadata=column(if_known=True))


ROW = Measured(5 << 20, 90_000, 7200.0, 1_795_334_400_123)


def lines_of(
    output: str, row: Measured, capsys: pytest.CaptureFixture[str], *, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    print_rows(output, Measured, [row], Paint(on=False))
    return capsys.readouterr().out.splitlines()


def cells_of(line: str) -> list[str]:
    """Return the texts of the cells of a line, which are at least two spaces apart."""
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_terminal_shows_readable_numbers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    [_, _, line] = lines_of("table", ROW, capsys, terminal=True, monkeypatch=monkeypatch)
    assert cells_of(line) == ["5.0 MiB", "90 s", "2.0 h", "2026-11-22 08:00:00.123Z"]


def test_pipe_and_json_have_exact_numbers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    [_, line] = lines_of("table", ROW, capsys, terminal=False, monkeypatch=monkeypatch)
    assert line.split() == ["5242880", "90000", "7200.0", "1795334400123"]
    [json_line] = lines_of("jsonl", ROW, capsys, terminal=True, monkeypatch=monkeypatch)
    assert json.loads(json_line) == {
        "size": 5_242_880, "timeout_ms": 90_000, "left": 7200.0, "started_ms": 1_795_334_400_123, "rack": None
    }  # fmt: skip


@for_rows(
    "row, texts",
    [
        (Measured(0, 0, 0.0, 0), ["0 B", "0 ms", "0 s", "1970-01-01 00:00:00.000Z"]),
        (Measured(None, None, None, None), ["-", "-", "-", "-"]),
        (Measured(1, 999, 99.0, 1 << 62), ["1 B", "999 ms", "99 s", str(1 << 62)]),
    ],
)
def test_extreme_numbers(
    row: Measured, texts: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [_, _, line] = lines_of("table", row, capsys, terminal=True, monkeypatch=monkeypatch)
    assert cells_of(line) == texts


def test_table_leaves_out_a_column_that_no_row_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [titles, _] = lines_of("table", ROW, capsys, terminal=False, monkeypatch=monkeypatch)
    assert "RACK" not in titles
    [titles, line] = lines_of("table", Measured(1, 1, 1.0, 1, "eu-1"), capsys, terminal=False, monkeypatch=monkeypatch)
    assert titles.endswith("RACK")
    assert line.endswith("eu-1")
