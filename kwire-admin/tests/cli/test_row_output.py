"""Rows as tables: readable numbers on a terminal, exact ones elsewhere, and columns without values."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import yaml
from hypothesis import given
from hypothesis import strategies as st

from kwire._util.readable import UNSAFE, cell_width
from kwire.terminal.colors import Paint
from kwire.terminal.tables import TableColumn, plain_lines
from kwire_admin.cli.row_output import _text, print_rows
from kwire_admin.operations.rows import column
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
        (Measured(1, 999, 99.0, 1 << 62), ["1 B", "999 ms", "99 s", "+146140482-04-24 15:36:27.904Z"]),
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


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    lag: int


HOSTILE = (
    "=HYPERLINK(1)",
    "+1-1",
    "@SUM(1)",
    "-x",
    "esc\x1b]0;x\x07",
    "rlo\u202etxt",
    "nel\x85",
    "a\nb",
    "-5",
    "+5",
    "a=b",
    "a\u200bb",
    "a\U000e0041b",
)


def test_csv_has_neither_formulas_nor_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("csv", Named, [Named(name, -7) for name in HOSTILE], Paint(on=False))
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))[1:]
    assert [row[0] for row in rows] == [
        *("'=HYPERLINK(1)", "'+1-1", "'@SUM(1)", "'-x", r"esc\x1b]0;x\x07", r"rlo\u202etxt", r"nel\x85", r"a\nb"),
        *("-5", "+5", "a=b", r"a\u200bb", r"a\U000e0041b"),
    ]
    assert {row[1] for row in rows} == {"-7"}


@dataclass(frozen=True, slots=True)
class Flagged:
    internal: bool | None


def test_csv_has_the_truth_values_of_json_and_a_table_those_of_people(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Flagged(True), Flagged(False), Flagged(None)]
    print_rows("csv", Flagged, rows, Paint(on=False))
    assert capsys.readouterr().out.splitlines() == ["internal", "true", "false", '""']
    print_rows("table", Flagged, rows, Paint(on=False))
    assert capsys.readouterr().out.split() == ["INTERNAL", "yes", "no", "-"]


def test_yaml_escapes_what_commands_a_terminal_and_keeps_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows("yaml", Named, [Named(name, 1) for name in HOSTILE], Paint(on=False))
    text = capsys.readouterr().out
    assert [row["name"] for row in yaml.safe_load(text)] == list(HOSTILE)
    assert re.sub(UNSAFE, "", text.replace("\n", "")) == text.replace("\n", "")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_columns_are_aligned_whatever_the_characters(names: list[str]) -> None:
    lines = list(plain_lines([TableColumn("NAME"), TableColumn("END")], [(name, "|") for name in names]))
    assert len({cell_width(line[: line.rindex("|")]) for line in lines[1:]}) == 1


def test_wide_characters_take_two_columns() -> None:
    assert [cell_width(text) for text in ("abc", "注文", "e\u0301", "\U0001f680", "")] == [3, 4, 1, 2, 0]


def test_unknown_value_in_a_cell_is_a_dash() -> None:
    assert _text({9: None, 1: 0}, None) == "1=0,9=-"
