"""Completion by Tab in the shell, and the history of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire_admin.cli.completion.commands import read_statements
from kwire_admin.cli.shell.completer import candidates
from kwire_admin.cli.shell.parser import parse
from kwire_admin.cli.shell.prompt import contains_secret
from kwire_admin.cli.shell.session import ShellSession
from tests.eventually import eventually_sync
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_admin.cli.completion.commands import Grammar

NOTHING_CHOSEN = {"cluster": None, "command_config": None, "overrides": (), "timeout": None}


@pytest.fixture(scope="module")
def session(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShellSession]:
    with (
        pytest.MonkeyPatch.context() as patch,
        ShellSession({"bootstrap": bootstrap, **NOTHING_CHOSEN}, interactive=False) as session,
    ):
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        session.names.start()
        eventually_sync(lambda: session.names.count("topics") == 3)
        eventually_sync(lambda: session.names.count("brokers") == 3)
        yield session


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return read_statements()


@for_rows(
    ("source", "names", "start"),
    [
        ("sta", ["stats"], 0),
        ("topics list; desc", ["describe"], 13),
        ("topics des", ["describe"], 7),
        ("topic\n des", ["describe"], 7),
        ("describe pay", ["payments"], 9),
        ("describe 'pay", ["payments"], 9),
        ("describe orders ", ["payments", "refunds"], 16),
        ("describe --on", ["--only"], 9),
        ("describe --only off", ["offline"], 16),
        ("use ", ["cluster", "group", "topic"], 4),
        ("use topic re", ["refunds"], 10),
        ("configs get topic/pay", ["topic/payments"], 12),
        ("configs get broker/", ["broker/1", "broker/2", "broker/3"], 12),
        ("watch 2 describe ord", ["orders"], 17),
        ("watch describe ord", ["orders"], 15),
        ("help topics cre", ["create"], 12),
        ("stats ref", ["refunds"], 6),
        ("nosuch or", [], 7),
        ("set a = ", [], 8),
    ],
)
def test_candidates(session: ShellSession, grammar: Grammar, source: str, names: list[str], start: int) -> None:
    found, position = candidates(grammar, session, parse(source))
    assert [name for name, _ in found.names] == names
    assert position == start


def test_every_statement_is_offered(session: ShellSession, grammar: Grammar) -> None:
    found, _ = candidates(grammar, session, parse(""))
    assert {"describe", "exit", "help", "set", "stats", "topics", "use", "watch"} <= {name for name, _ in found.names}


@for_rows(
    ("text", "secret"),
    [
        ("set ssl.keystore.password = hunter2", True),
        ("configs set broker/1 ssl.key.password=hunter2;", True),
        ("topics create a --config=sasl.jaas.config=hunter2;", True),
        ("topics list;\nset listener['x'].password = 'hunter2", True),
        ("users set alice --password-file mine;", False),
        ("topics create tokens;", False),
        ("set retention.ms = 7", False),
    ],
)
def test_statements_with_secrets_are_recognized(text: str, secret: bool) -> None:
    assert contains_secret(text) is secret
