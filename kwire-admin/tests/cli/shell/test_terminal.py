"""The shell in a real terminal: editing, completion, the pager, Ctrl-C, and history."""

from __future__ import annotations

import socket
import stat
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.cli.shell.tmux import Terminal
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.programs, pytest.mark.change]


def test_a_statement_spans_lines_and_its_output_follows(bootstrap: str, tmp_path: Path) -> None:
    with Terminal(tmp_path, "shell", "-b", bootstrap) as terminal:
        terminal.wait_for_prompt()
        terminal.run("topics describe")
        terminal.wait_for("    ->")
        terminal.run("refunds;")
        screen = terminal.wait_for("LEADER EPOCH")
        assert "kafka>topics describe\n    ->refunds;\n" in screen
        terminal.wait_for_prompt()
        terminal.run("topics descrbe;")
        screen = terminal.wait_for("did you mean describe?")
        assert "  topics descrbe;\n         ^^^^^^^\nError: topics has no command 'descrbe'" in screen
        terminal.run("exit;")
        terminal.wait_for("exit code 0")


def test_tab_completes_statements_options_and_live_names(bootstrap: str, tmp_path: Path) -> None:
    with Terminal(tmp_path, "shell", "-b", bootstrap) as terminal:
        terminal.wait_for("3 topics")
        for typed, completed in (("topi", "topics"), ("desc", "describe"), ("pay", "payments"), ("--on", "--only")):
            terminal.type(typed)
            terminal.wait_for(f"  {completed}")  # in the menu
            terminal.press("Tab")
        terminal.type("off")
        terminal.wait_for("  offline")
        terminal.press("Tab")
        terminal.wait_for("kafka>topics describe payments --only offline")


def test_keys_never_wait_for_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    """The timeout of a request is longer than the test's, so what appears did not wait for the broker."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with Terminal(tmp_path, "shell", "-b", address, "--timeout", "3600") as terminal:
            terminal.wait_for_prompt()
            connection, _ = silent.accept()
            with connection:
                assert connection.recv(4), "names are being requested"
                terminal.type("topi")
                terminal.wait_for("  topics")
                terminal.press("Tab")
                terminal.type("describe some")
                terminal.wait_for("kafka>topics describe some")
                terminal.run(";")
                terminal.wait_for(f"No broker of {address} has answered yet")
                terminal.press("C-c")
                terminal.wait_for("Interrupted: nothing was changed.")
                terminal.wait_for_prompt()
                terminal.press("C-d")
                terminal.wait_for("exit code 0")


def test_ctrl_c_ends_the_statement_and_not_the_shell(bootstrap: str, tmp_path: Path) -> None:
    with Terminal(tmp_path, "shell", "-b", bootstrap) as terminal:
        terminal.wait_for_prompt()
        terminal.run("watch 0.2 describe orders;")
        terminal.wait_for("describe orders   ", "every 0.2 s, Ctrl-C ends", "LEADER EPOCH")
        terminal.press("C-c")
        screen = terminal.wait_for_prompt()
        assert "LEADER EPOCH" in screen, "the last picture stays"
        terminal.type("topics delete orders")
        terminal.press("C-c")
        terminal.wait_for_prompt()
        terminal.run("topics list orders;")
        terminal.wait_for("REPLICATION FACTOR")
        terminal.wait_for_prompt()
        terminal.press("C-d")
        terminal.wait_for("exit code 0")


def test_questions_are_asked_in_the_shell(tmp_path: Path) -> None:
    with FakeCluster(1, topics=["old"]) as cluster, Terminal(tmp_path, "shell", "-b", cluster.bootstrap) as terminal:
        terminal.wait_for_prompt()
        terminal.run("topics delete old;")
        terminal.wait_for("Delete old and all records? [y/N]")
        terminal.press("C-c")
        terminal.wait_for("nothing was changed.")
        terminal.wait_for_prompt()
        terminal.run("topics delete old;")
        eventually_sync(lambda: terminal.screen().count("[y/N]") == 2)
        terminal.run("n")
        terminal.wait_for("Not confirmed: nothing was changed.")
        terminal.wait_for_prompt()


def test_long_output_goes_to_the_pager(tmp_path: Path) -> None:
    names = [f"topic-{index:03}" for index in range(200)]
    with FakeCluster(1, topics=names) as cluster, Terminal(tmp_path, "shell", "-b", cluster.bootstrap) as terminal:
        terminal.wait_for_prompt()
        terminal.run("topics list;")
        screen = terminal.wait_for("topic-010")
        assert "topic-199" not in screen
        terminal.type("G")
        terminal.wait_for("topic-199")
        terminal.type("q")
        terminal.wait_for_prompt()


def test_history_is_kept_without_secrets_and_only_for_its_owner(bootstrap: str, tmp_path: Path) -> None:
    with Terminal(tmp_path, "shell", "-b", bootstrap) as terminal:
        terminal.wait_for_prompt()
        terminal.run("help use;")
        terminal.wait_for("Usage: use")
        terminal.run("set ssl.keystore.password = hunter2")
        terminal.wait_for("Error: ")
        terminal.wait_for_prompt()
        terminal.press("C-d")
        terminal.wait_for("exit code 0")
    history = tmp_path / ".local/state/kwire/shell_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    text = history.read_text()
    assert "help use;" in text
    assert "hunter2" not in text
    (tmp_path / "again").mkdir()
    with Terminal(
        tmp_path / "again", "shell", "-b", bootstrap, XDG_STATE_HOME=str(tmp_path / ".local/state")
    ) as terminal:
        terminal.wait_for_prompt()
        terminal.press("Up")
        terminal.wait_for("kafka>help use;")
