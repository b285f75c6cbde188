"""Tables: drawn by rich on a terminal, plain aligned columns elsewhere."""

from __future__ import annotations

import sys
from itertools import repeat
from operator import add, sub
from typing import TYPE_CHECKING, NamedTuple

from kwire._util.readable import cell_width, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire.terminal.colors import Paint

GAP = "  "
SEPARATOR = 3
"""Columns between two cells of a table that rich draws."""
FOLDED_WIDTH = 20
"""The least width of a column that folds."""


class TableColumn(NamedTuple):
    """A column; `number` aligns it to the right, `folds` lets cells wrap on a narrow terminal."""

    title: str
    number: bool = False
    folds: bool = False


def print_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], paint: Paint) -> None:
    """Print a table to stdout. Cells can contain names of strangers, and are escaped."""
    if sys.stdout.isatty():
        _print_with_rich(columns, rows, paint)
    else:
        sys.stdout.write("\n".join((*plain_lines(columns, rows), "")))


def plain_lines(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a plain text table, the column titles first."""
    titles = [column.title for column in columns]
    aligned = []
    safe = (map(printable, row) for row in rows)
    for column, cells in zip(columns, zip(titles, *safe, strict=True), strict=True):
        widths = [*map(cell_width, cells)]
        # A character may take two columns or none, so a text is filled up to its length and what its width lacks.
        lengths = map(add, map(len, cells), map(sub, repeat(max(widths)), widths))
        aligned.append(map(str.rjust if column.number else str.ljust, cells, lengths))
    for line in map(GAP.join, zip(*aligned, strict=True)):
        yield line.rstrip()


def _print_with_rich(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], paint: Paint) -> None:
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [[*map(printable, row)] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.number else "left",
            overflow="fold",
            no_wrap=not column.folds,
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(color_system="auto" if paint.on else None, highlight=False)
    # On a narrow terminal, lines continue in the next row. A value that rich cuts off looks like another value.
    widths = [
        FOLDED_WIDTH if column.folds else max(map(cell_len, (column.title, *cells)))
        for column, *cells in zip(columns, *rows, strict=True)
    ]
    console.width = max(console.width, sum(widths) + SEPARATOR * (len(widths) - 1))
    console.print(table)
