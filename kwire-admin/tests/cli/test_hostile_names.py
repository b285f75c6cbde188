"""Names and errors from the network cannot command a terminal or forge lines, whatever prints them."""

from __future__ import annotations

import json
import re
import sys
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kwire._util.readable import printable, printable_lines
from kwire.cli.commands.replay import _line
from kwire.cli.frame_json import json_text
from kwire.terminal.cluster import ClusterChoice
from kwire.terminal.colors import Paint
from kwire.terminal.tables import TableColumn, plain_lines, print_table
from kwire_admin.cli.row_output import FORMATS, print_rows
from kwire_admin.cli.shell.error_position import StatementErrors
from kwire_admin.cli.shell.lag_history import LagTrend
from kwire_admin.cli.shell.lag_picture import lag_lines
from kwire_admin.cli.verb_run import VerbRun
from kwire_admin.cli.verb_session import VerbSession
from kwire_admin.compat.options import OptionValues
from kwire_admin.compat.script import ScriptRun
from kwire_admin.operations.changes import ItemChange
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.registry import find_verb

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = "evil\x1b]0;pwned\x07\x9b31m\u202e\u200b\ufeff\xad\u3164\U000e0041\x7f\r"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\U000e0041]")
OWN = re.compile(r"\r?\x1b\[(?:K|[0-9;]*m)")
"""Codes that the command itself prints: colors, and the deletion of a line."""


class Terminal(StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def verb_run() -> Any:
    verb = find_verb("topics", "list")
    assert verb is not None
    session = VerbSession()
    return VerbRun(verb, session, ClusterChoice(HOSTILE, ""), {}, {"dry_run": False})._new_run()


def confirm() -> None:
    with pytest.raises(InvalidArgument) as question:
        verb_run().confirm(f"Delete {HOSTILE}?")
    VerbSession().report(str(question.value))


def lag() -> None:
    trend = LagTrend(HOSTILE, HOSTILE, 0, "brokers", 1, 2, 1, None, None, None, (1,))
    sys.stdout.write("\n".join(lag_lines([trend], " x")))


def poll_event() -> None:
    from datetime import UTC, datetime

    event: Any = SimpleNamespace(at=datetime.now(UTC), broker_id=1, text=HOSTILE, kind="topic-created")
    sys.stdout.write(_line(event, Paint(on=False)))


PRINTED_FOR_PEOPLE: dict[str, Callable[[], object]] = {
    "table": lambda: print_rows("table", ItemChange, [ItemChange(HOSTILE, HOSTILE, 1)], Paint(on=False)),
    "CSV": lambda: print_rows("csv", ItemChange, [ItemChange(HOSTILE, HOSTILE, 1)], Paint(on=False)),
    "error": lambda: VerbSession().report(HOSTILE),
    "error in the shell": lambda: StatementErrors().report(HOSTILE),
    "warning": lambda: verb_run().warn(HOSTILE),
    "note": lambda: verb_run().note(HOSTILE),
    "progress": lambda: verb_run().show(HOSTILE),
    "question": confirm,
    "lag": lag,
    "event": poll_event,
    "line of a script": lambda: ScriptRun(OptionValues()).print(HOSTILE),
    "warning of a script": lambda: ScriptRun(OptionValues()).warn(HOSTILE),
}


@pytest.mark.parametrize("what", PRINTED_FOR_PEOPLE)
def test_terminal_shows_hostile_name_escaped(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    PRINTED_FOR_PEOPLE[what]()
    shown = OWN.sub("", terminal.getvalue())
    assert "evil" in shown, "otherwise the test shows nothing"
    assert UNSAFE.search(shown) is None
    assert r"evil\x1b]0;pwned\x07\x9b31m\u202e\u200b\ufeff\xad\u3164\U000e0041\x7f\r" in shown


def test_json_of_frames_is_escaped_and_reads_back() -> None:
    text = json_text({"name": HOSTILE})

    assert UNSAFE.search(text) is None
    assert json.loads(text) == {"name": HOSTILE}


def test_pipe_has_escaped_tables_and_errors_and_exact_documents(capsys: pytest.CaptureFixture[str]) -> None:
    columns, rows = [TableColumn("NAME")], [["one\nforged"]]
    assert list(plain_lines(columns, rows)) == ["NAME", r"one\nforged"]
    print_table(columns, rows, Paint(on=False))
    VerbSession().report(HOSTILE)
    printed = capsys.readouterr()
    assert UNSAFE.search(printed.out + printed.err) is None
    # Programs read these, so nothing is changed in them but by the rules of their format.
    for output in ("json", "jsonl", "yaml"):
        FORMATS[output](ItemChange, [ItemChange(HOSTILE, "x", 1)], Paint(on=False))
        assert "\x1b" not in capsys.readouterr().out
    print_rows("csv", ItemChange, [ItemChange(HOSTILE, "x", 1)], Paint(on=False))
    assert UNSAFE.search(capsys.readouterr().out.replace("\n", "")) is None
    ScriptRun(OptionValues()).print(HOSTILE)
    assert capsys.readouterr().out == f"{HOSTILE}\n"


def test_text_without_control_characters_stays_as_it_is() -> None:
    for text in ("", "orders", "Grüße 注文 🦀 a b"):
        assert printable(text) == printable_lines(text) == text
    assert printable("a\tb\nc") == r"a\tb\nc"
    assert printable_lines("a\tb\nc\x1b") == "a\tb\nc\\x1b"
