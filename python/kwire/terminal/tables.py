r"""Tables: drawn by rich on a terminal that is wide enough, plain aligned columns elsewhere.

On a terminal that is too narrow, cells are broken between words and after commas. If that does not suffice, each row is
shown as a record with a line for each cell, as `psql` does with `\x auto`. Nothing is cut off.
"""

from __future__ import annotations

import sys
from itertools import repeat
from operator import add, sub

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire._util.readable import cell_width, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire.terminal.colors import Paint

GAP = "  "
WIDE_GAP, NARROW_GAP = 3, 2
"""Blanks between two cells on a terminal: where a table fits as it is, and otherwise."""
NO_VALUE = "-"
"""The cell of an unknown or absent value."""
PROSE_WIDTH = 20
"""Least width of a column of prose: its words are short, and a line of one word is hard to read."""
BREAK = r"[^ ,]+[ ,]*|[ ,]+"
"""Pattern of a piece of a cell that stays in one line, with the blanks and commas after it."""


class TableColumn(NamedTuple):
    """A column; `number` aligns it to the right, `folds` is true for prose."""

    title: str
    number: bool = False
    folds: bool = False


def print_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], paint: Paint) -> None:
    """Print a table to stdout. Cells can contain names of strangers, and are escaped."""
    if sys.stdout.isatty():
        import shutil  # with the compressors of all kinds of archives

        _print_on_terminal(columns, rows, paint, shutil.get_terminal_size().columns)
    else:
        sys.stdout.write("\n".join((*plain_lines(columns, rows), "")))


def plain_lines(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a plain text table, the column titles first."""
    titles = [column.title for column in columns]
    aligned = []
    for column, texts in zip(columns, zip(titles, *rows, strict=True), strict=True):
        fill = str.rjust if column.number else str.ljust
        if (joined := "".join(texts)).isascii() and joined.isprintable():  # the usual column, in one step for all cells
            aligned.append(map(fill, texts, repeat(max(map(len, texts)))))
            continue
        cells = [*map(printable, texts)]
        widths = [*map(cell_width, cells)]
        # A character may take two columns or none, so a text is filled up to its length and what its width lacks.
        lengths = map(add, map(len, cells), map(sub, repeat(max(widths)), widths))
        aligned.append(map(fill, cells, lengths))
    return map(str.rstrip, map(GAP.join, zip(*aligned, strict=True)))


def _print_on_terminal(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], paint: Paint, width: int) -> None:
    layout = fitting_layout(columns, [[*map(printable, row)] for row in rows], width)
    if layout.widths is None:
        sys.stdout.write("\n".join((*record_lines(layout.columns, layout.rows, paint), "")))
    else:
        _print_with_rich(layout, layout.widths, paint)
    if layout.left_out:
        print(f"Without values: {', '.join(layout.left_out)}")


class TableLayout(NamedTuple):
    """The form of a table on a terminal.

    Attributes:
        columns: the columns.
        rows: their cells.
        widths: the widths of the columns; None if each row is shown as a record.
        gap: the blanks between two columns.
        left_out: titles of columns that are not shown, because no row has a value.
    """

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]
    widths: Sequence[int] | None
    gap: int = NARROW_GAP
    left_out: Sequence[str] = ()


def fitting_layout(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int) -> TableLayout:
    """Return the first layout that fits a terminal of `width` columns: as it is, with broken cells, without columns
    that have no value, or records.
    """
    texts = [*zip([column.title for column in columns], *rows, strict=True)]
    natural = [max(map(cell_width, cells)) for cells in texts]
    gaps = len(columns) - 1
    if sum(natural) + WIDE_GAP * gaps <= width:
        return TableLayout(columns, rows, natural, WIDE_GAP)
    widths = fitting_widths(columns, texts, width - NARROW_GAP * gaps)
    if widths is not None:
        return TableLayout(columns, rows, widths)
    known = [at for at, (_, *cells) in enumerate(texts) if any(cell != NO_VALUE for cell in cells)]
    left_out = [column.title for at, column in enumerate(columns) if at not in known]
    columns = [columns[at] for at in known]
    widths = fitting_widths(columns, [texts[at] for at in known], width - NARROW_GAP * (len(known) - 1))
    return TableLayout(columns, [[row[at] for at in known] for row in rows], widths, left_out=left_out)


def fitting_widths(columns: Sequence[TableColumn], texts: Sequence[Sequence[str]], room: int) -> Sequence[int] | None:
    """Return the widths of columns that have `room` columns of a terminal; None if they do not fit.

    Cells are broken only at blanks and after commas: a name in two lines cannot be found or copied. The room that
    columns without such cells leave is divided among the others.

    Args:
        texts: the title and the cells of each column.
    """
    natural = [max(map(cell_width, cells)) for cells in texts]
    least = []
    for column, most, cells in zip(columns, natural, texts, strict=True):
        pieces = {piece.rstrip() for text in {*cells} for piece in breakable_pieces(text)}
        floor = min(PROSE_WIDTH, most) if column.folds else 0
        least.append(max([floor, *map(cell_width, pieces)]))
    if sum(least) > room:
        return None
    limit = max(natural, default=0)
    while sum(fitted := [min(most, max(lowest, limit)) for most, lowest in zip(natural, least, strict=True)]) > room:
        limit -= 1
    return fitted


def breakable_pieces(text: str) -> list[str]:
    """Return the parts of a cell that stay in one line each; joined, they are the cell."""
    import re  # only terminals need it

    return re.findall(BREAK, text)


def wrapped(text: str, width: int) -> str:
    """Return a cell with its pieces in lines of at most `width` columns, if the pieces are not wider."""
    lines = [""]
    for piece in breakable_pieces(text):
        if lines[-1] and cell_width(lines[-1]) + cell_width(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def record_lines(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], paint: Paint) -> Iterator[str]:
    """Return a line for each cell, and an empty line between rows, for a terminal that is too narrow for a table."""
    width = max(len(column.title) for column in columns)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for column, cell in zip(columns, row, strict=True):
            yield f"{paint('title', f'{column.title:<{width}}')}{GAP}{cell}"


def _print_with_rich(layout: TableLayout, widths: Sequence[int], paint: Paint) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Between two cells, rich prints their paddings and a blank.
    padding = (0, 1) if layout.gap == WIDE_GAP else (0, 1, 0, 0)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=padding)
    for column, width in zip(layout.columns, widths, strict=True):
        title = wrapped(column.title, width)
        table.add_column(title, justify="right" if column.number else "left", overflow="fold", no_wrap=True)
    for row in layout.rows:
        table.add_row(*(Text(wrapped(cell, width)) for cell, width in zip(row, widths, strict=True)))
    console = Console(color_system="auto" if paint.on else None, highlight=False)
    console.width = sum(widths) + layout.gap * (len(widths) - 1)
    console.print(table)
