"""Rows of single commands in a real terminal: a pager shows what does not fit."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kwire.testing import FakeCluster
from tests.cli.running import kwire, kwire_on_terminal, kwire_on_terminal_of
from tests.cli.shell.tmux import Terminal
from tests.for_rows import for_rows

NAMES = [f"topic-{index:03}" for index in range(200)]


@pytest.mark.programs
@for_rows(
    "options, pager, is_paged",
    [
        ((), "less", True),
        (("-o", "json"), "less", True),
        (("--no-pager",), "less", False),
        ((), "", False),
    ],
    ids=["table", "json", "option", "variable"],
)
def test_rows_that_do_not_fit_go_to_a_pager(options: tuple[str, ...], pager: str, is_paged: bool) -> None:
    with (
        FakeCluster(1, topics=NAMES) as cluster,
        TemporaryDirectory() as home,
        Terminal(Path(home), *options, "-b", cluster.bootstrap, "topics", "list", PAGER=pager) as terminal,
    ):
        if is_paged:
            assert "topic-199" not in terminal.wait_for("topic-001")
            terminal.press("C-c")  # ends what less does, and not less
            terminal.type("G")
            terminal.wait_for("topic-199")
            terminal.type("q")
        terminal.wait_for("topic-199", "exit code 0")


@pytest.mark.programs
def test_rows_that_fit_need_no_pager(tmp_path: Path) -> None:
    with (
        FakeCluster(1, topics=["orders"]) as cluster,
        Terminal(tmp_path, "-b", cluster.bootstrap, "topics", "list", PAGER="false") as terminal,
    ):
        terminal.wait_for("orders", "exit code 0")


def test_pipes_and_terminals_without_a_size_have_no_pager() -> None:
    with FakeCluster(1, topics=NAMES) as cluster:
        command = ("-b", cluster.bootstrap, "topics", "list")
        assert kwire(*command, PAGER="false").out.count("topic-") == 200
        assert kwire_on_terminal(*command, PAGER="false").out.count("topic-") == 200


def test_no_pager_starts_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that runs the command on a terminal cannot end a pager."""
    monkeypatch.delenv("PAGER", raising=False)
    with FakeCluster(1, topics=NAMES) as cluster:
        shown = kwire_on_terminal_of((24, 40), "-b", cluster.bootstrap, "topics", "list")
    assert (shown.code, shown.out.count("topic-")) == (0, 200)
