"""Scripts of statements on stdin: output, errors with their place, and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Run, Running, kwire

if TYPE_CHECKING:
    from pathlib import Path


def script(bootstrap: str, source: str, *options: str, **variables: str) -> Run:
    return kwire("shell", "-b", bootstrap, *options, stdin=source, **variables)


def test_statements_print_what_the_commands_print(bootstrap: str) -> None:
    run = script(bootstrap, "topics list;\n# a comment\ntopic ls 'pay*' -o csv;")
    assert (run.code, run.err) == (0, "")
    listed = kwire("-b", bootstrap, "topics", "list").out
    assert run.out == listed + kwire("-b", bootstrap, "topics", "list", "pay*", "-o", "csv").out


def test_output_of_the_shell_is_the_default_of_its_statements(bootstrap: str) -> None:
    run = script(bootstrap, "topics list refunds; topics list refunds -o jsonl;", "-o", "json")
    first, _, second = run.out.rpartition("]\n")
    assert [topic["name"] for topic in json.loads(first + "]")] == ["refunds"]
    assert json.loads(second)["name"] == "refunds"


def test_describe_is_about_the_topic_in_use(bootstrap: str) -> None:
    every = kwire("-b", bootstrap, "topics", "describe").out
    one = kwire("-b", bootstrap, "topics", "describe", "payments").out
    assert script(bootstrap, "describe;").out == every
    run = script(bootstrap, "use topic payments;use;describe;use topic;describe;")
    assert run.out == f"cluster {bootstrap}\ntopic payments\ngroup -\n{one}{every}"


def test_statements_run_when_their_line_has_arrived(bootstrap: str) -> None:
    """Another program can write statements one by one, and read their output."""
    with Running("shell", "-b", bootstrap) as run:
        for topic in ("orders", "refunds"):
            run.stdin.write(b"topics list %s -o jsonl;\n" % topic.encode())
            run.stdin.flush()
            assert json.loads(run.stdout.readline())["name"] == topic


@pytest.mark.parametrize(
    ("source", "err"),
    [
        (
            "topics list orders;\ntopcis list;",
            "  topcis list;\n  ^^^^^^\nError: line 2: unknown statement 'topcis': did you mean topics?\n",
        ),
        (
            "topics lst;",
            "  topics lst;\n         ^^^\nError: line 1: topics has no command 'lst': did you mean list?\n",
        ),
        (
            "topics\n  list --foo;",
            "    list --foo;\n         ^^^^^\nError: line 2: No such option '--foo'.\n",
        ),
        (
            "topics describe --only rusty;",
            "  topics describe --only rusty;\n                         ^^^^^\nError: line 1: Invalid value for ",
        ),
        (
            "topics alter --partitions\n;",
            "  topics alter --partitions\n               ^^^^^^^^^^^^\nError: line 1: Option '--partitions' ",
        ),
        (
            "groups reset-offsets;",
            "  groups reset-offsets;\n                      ^\nError: line 1: Missing argument 'GROUP'.\n",
        ),
        (
            "set retention.ms 7;",
            "  set retention.ms 7;\n      ^^^^^^^^^^^^\nError: line 1: expected = after 'retention.ms'\n",
        ),
        ("set a = b c\n", "Error: line 1: expected one value after =, got 'c': quote a value with blanks\n"),
        ("watch 2 topics list;", "  watch 2 topics list;\n  ^^^^^\nError: line 1: 'watch' needs a terminal\n"),
        (
            "use topics;",
            "  use topics;\n      ^^^^^^\nError: line 1: expected topic, group, or cluster, got 'topics'\n",
        ),
        ("use topic ordrs;", "  use topic ordrs;\n            ^^^^^\nError: line 1: ordrs: "),
        (
            "topics list;\n\n  describe 'x;",
            "Error: line 3: the statement is not finished: expected ' at the end of the script\n",
        ),
        ("topics list", "Error: line 1: the statement is not finished: expected ; at the end of the script\n"),
    ],
)
def test_errors_point_at_the_word(bootstrap: str, source: str, err: str) -> None:
    run = script(bootstrap, source)
    assert run.code in (1, 2)
    assert err in run.err, run.err


def test_unknown_topic_points_at_the_topic_and_offers_the_nearest(bootstrap: str) -> None:
    run = script(bootstrap, "topics describe orders refnds payments;")
    assert run.code == 1
    assert run.err.startswith(
        "  topics describe orders refnds payments;\n                         ^^^^^^\nError: line 1: "
    )
    assert "did you mean refunds?" in run.err


def test_script_stops_at_a_failure_unless_it_is_to_go_on(bootstrap: str) -> None:
    source = "topics list orders; topics describe nosuch; topics list refunds;"
    stopped = script(bootstrap, source, "-o", "csv")
    assert stopped.code == 1
    assert stopped.err.endswith("Stopped after 2 statements.\n")
    assert "orders" in stopped.out
    assert "refunds" not in stopped.out
    continued = script(bootstrap, source, "-o", "csv", "--keep-going")
    assert continued.code == 1
    assert "refunds" in continued.out
    for end in ("exit", "quit"):
        assert script(bootstrap, f"{end}; topics describe nosuch;").code == 0


def test_statements_do_not_read_the_script(bootstrap: str) -> None:
    run = script(bootstrap, "users set alice --password-file -;\nsecret\n;")
    assert run.code == 2
    assert "stdin does not contain one line with the password" in run.err


def test_a_statement_can_name_another_cluster(bootstrap: str) -> None:
    run = script("127.0.0.1:1", f"topics list orders -b {bootstrap} -o csv;", KWIRE_BOOTSTRAP="127.0.0.1:2")
    assert run.code == 0
    assert "orders" in run.out


def test_environment_does_not_change_the_cluster_of_the_shell(bootstrap: str) -> None:
    assert script(bootstrap, "topics list;", KWIRE_BOOTSTRAP="127.0.0.1:1").code == 0


def test_clusters_of_the_configuration_file(bootstrap: str, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[clusters.test]\nbootstrap = "{bootstrap}"\nread_only = true\n', encoding="utf-8")
    source = "use cluster test; use; topics list orders -o csv; topics create new -p 1 -r 1;"
    run = script("127.0.0.1:1", source, KWIRE_CONFIG=str(config))
    assert run.out.startswith("cluster test\ntopic -\ngroup -\n")
    assert "orders" in run.out
    assert run.code == 2
    assert "cluster test is read-only" in run.err
    assert "did you mean test" in script("127.0.0.1:1", "use cluster tst;", KWIRE_CONFIG=str(config)).err


def test_a_broker_that_cannot_be_reached_is_one_sentence() -> None:
    run = script("127.0.0.1:1", "topics list; topics list;", "--keep-going", "--timeout", "0.5")
    assert run.code == 3
    assert run.err.count("\n") == 2
    assert run.err.count("127.0.0.1:1") == 2


def test_help_lists_every_noun_and_explains_every_verb(bootstrap: str) -> None:
    listed = script(bootstrap, "help;").out
    assert all(name in listed for name in ("topics", "quorum", "describe", "watch", "set"))
    assert script(bootstrap, "help topics create;").out == script(bootstrap, "topics create --help;").out
    run = script(bootstrap, "help topics crate;")
    assert run.code == 2
    assert "did you mean create or alter?" in run.err


def test_a_closed_stdout_ends_the_script_like_a_command(bootstrap: str) -> None:
    with Running("shell", "-b", bootstrap) as run:
        run.stdout.close()
        run.stdin.write(b"topics list;\n")
        run.stdin.close()
        assert run.process.wait(timeout=60) == 141
        assert run.stderr.read() == b""
