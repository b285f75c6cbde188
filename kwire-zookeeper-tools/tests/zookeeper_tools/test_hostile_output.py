"""The output of a tool cannot control the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kwire.terminal.colors import Paint
from kwire_admin.cli.row_output import print_rows
from kwire_zookeeper_tools.verbs.tools.run import ToolOutput
from tests.cli.test_hostile_names import HOSTILE, UNSAFE, Terminal

if TYPE_CHECKING:
    import pytest


def test_terminal_shows_output_of_a_tool_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)

    print_rows("table", ToolOutput, [ToolOutput("t", None, 0, HOSTILE)], Paint(on=False))

    assert "evil" in terminal.getvalue()
    assert UNSAFE.search(terminal.getvalue()) is None
