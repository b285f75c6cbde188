"""Output on a terminal: colors, tables that fit, and errors."""

from __future__ import annotations

import os
import re

from kwire.testing import FakeCluster
from tests.cli.bodies import METADATA_V13
from tests.cli.running import kwire as run
from tests.cli.running import kwire_on_terminal as run_on_terminal
from tests.for_rows import for_rows

DUMP = ("decode", "-m", "MetadataResponse", "-v", "13", "-o", "hexdump", METADATA_V13)
TABLE = ("decode", "-m", "MetadataResponse", "-v", "13", "-o", "table", METADATA_V13)
FIELDS = ("messages", "DescribeCluster")
LIST = ("messages",)

ESCAPE = re.compile("\x1b\\[[0-9;]*m")

each_output = for_rows("arguments", [DUMP, TABLE, FIELDS, LIST], ids=["dump", "table", "fields", "list"])


@each_output
def test_output_on_a_terminal_is_colored(arguments: tuple[str, ...]) -> None:
    assert ESCAPE.search(run_on_terminal(*arguments).out)


@each_output
def test_output_to_a_pipe_is_not_colored(arguments: tuple[str, ...]) -> None:
    assert "\x1b" not in run(*arguments).out


@each_output
@for_rows("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_environment_disables_color(arguments: tuple[str, ...], variables: dict[str, str]) -> None:
    assert "\x1b" not in run_on_terminal(*arguments, **variables).out


@each_output
def test_color_option_disables_color(arguments: tuple[str, ...]) -> None:
    assert "\x1b" not in run_on_terminal(*arguments, "--color", "never").out


def test_color_option_enables_color_for_a_pipe() -> None:
    assert ESCAPE.search(run(*DUMP, "--color", "always", NO_COLOR="1").out)


def test_color_does_not_change_the_text() -> None:
    """Color is never the only carrier of information."""
    colored = run_on_terminal(*DUMP).out

    assert ESCAPE.sub("", colored) == run(*DUMP).out


def test_json_is_never_colored() -> None:
    assert "\x1b" not in run_on_terminal("decode", "-m", "MetadataResponse", "-v", "13", METADATA_V13).out


def test_tables_fit_the_terminal() -> None:
    shown = ESCAPE.sub("", run_on_terminal(*FIELDS, COLUMNS="90", LINES="40").out)

    assert max(map(len, shown.splitlines())) <= 90
    assert "    True to include the cluster operations that the client is" in shown, (
        "below the row if there is no room beside it"
    )


def test_values_are_never_cut_off() -> None:
    """A table that does not fit continues in the next line of the terminal."""
    topic = "a-rather-long-name-of-a-topic-" * 3
    with FakeCluster(3, topics=[topic], partitions=1) as cluster:
        run = run_on_terminal("-b", cluster.bootstrap, "topics", "describe", COLUMNS="60")
    shown = ESCAPE.sub("", run.out).split()
    assert topic in shown
    assert "1,2,3" in shown


@for_rows(
    ("command", "sentence"),
    [(("topics", "list"), "No topics."), (("cluster", "health"), "The cluster has no problems.")],
    ids=["list", "check"],
)
def test_table_without_rows_is_a_sentence_on_stderr(command: tuple[str, ...], sentence: str) -> None:
    with FakeCluster(1, topics=[]) as cluster:
        on_terminal = run_on_terminal("-b", cluster.bootstrap, *command)
        to_pipe = run("-b", cluster.bootstrap, *command)
        as_json = run_on_terminal("-b", cluster.bootstrap, *command, "--output", "json")
    assert on_terminal.out.splitlines() == [sentence]
    assert (to_pipe.out, to_pipe.err) == ("", f"{sentence}\n")
    assert as_json.out.splitlines() == ["[]"]


def test_error_on_a_terminal_is_not_repeated_as_json() -> None:
    shown = run_on_terminal("decode", "-m", "MetadataResponse", "-v", "13", "00")

    assert shown.code == 1
    assert shown.out.startswith("\x1b[1;31mError\x1b[0m: throttle_time_ms: truncated")
    assert '"error"' not in shown.out


def test_terminal_is_not_read_by_default() -> None:
    shown = run_on_terminal("decode", "-m", "MetadataResponse", "-v", "13")

    assert "no input: expected hex, JSON, a file name, or - for stdin" in shown.out
    assert shown.code == 2


def test_the_test_terminal_is_a_terminal() -> None:
    """Otherwise the tests above would prove nothing."""
    controller, terminal = os.openpty()
    assert os.isatty(terminal)
    os.close(controller)
    os.close(terminal)
