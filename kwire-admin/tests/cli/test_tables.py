"""Tables on terminals of every width: nothing is cut off, and names stay in one line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire._util.readable import cell_width
from kwire.terminal.colors import Paint
from kwire.terminal.tables import TableColumn, TableLayout, fitting_layout, record_lines, wrapped
from kwire.testing import FakeCluster
from tests.cli.running import kwire_on_terminal

WORDS = st.text(alphabet="aé注-._/🚀", min_size=1, max_size=24)
CELLS = st.one_of(
    WORDS,
    st.lists(WORDS, min_size=1, max_size=5).map(",".join),
    st.lists(WORDS, min_size=1, max_size=8).map(" ".join),
    st.just("-"),
)
TABLES = st.integers(1, 7).flatmap(
    lambda count: st.tuples(
        st.lists(st.builds(TableColumn, st.sampled_from(["NAME", "LOG END", "HOST"]), st.booleans(), st.booleans()))
        .map(lambda columns: (columns * count)[:count])
        .filter(lambda columns: len(columns) == count),
        st.lists(st.lists(CELLS, min_size=count, max_size=count), min_size=1, max_size=6),
    )
)


@given(TABLES, st.integers(20, 200))
def test_a_layout_shows_every_value_within_the_width(
    table: tuple[list[TableColumn], list[list[str]]], width: int
) -> None:
    columns, rows = table
    layout = fitting_layout(columns, rows, width)
    if layout.widths is None:
        lines = "\n".join(record_lines(layout.columns, layout.rows, Paint(on=False)))
        assert all(cell in lines for row in rows for cell in row if cell != "-")
    else:
        assert sum(layout.widths) + layout.gap * (len(layout.widths) - 1) <= width
        check_cells(layout, layout.widths)
    shown = [*layout.columns]
    assert sorted([column.title for column in shown] + [*layout.left_out]) == sorted(column.title for column in columns)
    assert len(layout.left_out) == len(columns) - len(shown)


def check_cells(layout: TableLayout, widths: object) -> None:
    """Check that the lines of a cell fit its column, and are the cell when they are joined."""
    assert isinstance(widths, list)
    for row in layout.rows:
        for cell, width in zip(row, widths, strict=True):
            lines = wrapped(cell, width).split("\n")
            assert all(cell_width(line) <= width for line in lines)
            assert "".join(lines).replace(" ", "") == cell.replace(" ", "")
            assert {*cell.replace(",", " ").split()} == {*" ".join(lines).replace(",", " ").split()}


@given(TABLES)
def test_columns_are_left_out_only_without_values(table: tuple[list[TableColumn], list[list[str]]]) -> None:
    columns, rows = table
    layout = fitting_layout(columns, rows, 1)
    valueless = sum(all(row[at] == "-" for row in rows) for at in range(len(columns)))
    assert len(layout.left_out) == (valueless if len(columns) > 1 or layout.widths is None else 0)


def test_common_tables_fit_eighty_columns() -> None:
    commands = ("topics list", "topics describe", "groups lag billing", "brokers list", "log-dirs list")
    with FakeCluster(brokers=3, topics=["orders", "payments.settled.v1"], partitions=4) as cluster:
        cluster.set_group("billing", {"orders": {0: 1, 1: 2}}, members=2)
        for command in commands:
            shown = kwire_on_terminal("-b", cluster.bootstrap, *command.split(), COLUMNS="80", NO_COLOR="1")
            assert shown.code == 0
            assert max(map(cell_width, shown.out.splitlines())) <= 80, shown.out
            assert "───" in shown.out, shown.out  # a table, no records


def test_no_color_leaves_no_escapes_of_any_verb() -> None:
    with FakeCluster(brokers=1, topics=["orders"]) as cluster:
        for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            for command in (("topics", "list"), ("topics", "describe", "nosuch"), ("topics", "list", "-o", "help")):
                shown = kwire_on_terminal("-b", cluster.bootstrap, *command, **variables)
                assert "\x1b" not in shown.out, (variables, command)
