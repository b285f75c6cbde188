"""The command line around verbs: usage errors, unreachable clusters, output formats, and imports."""

from __future__ import annotations

import csv
import io
import json
import os
import socketserver
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
import yaml

from kwire.testing import FakeCluster
from kwire_admin.cli.row_help import described_keys
from kwire_admin.cli.verb_command import verb_command
from kwire_admin.operations import registry
from tests.cli.running import GOLDEN, environment, kwire, kwire_on_terminal
from tests.cli.scripted_broker import raw_server, sized
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


REPEATABLE = "Can be given several times"
REFUSED = (
    "127.0.0.1:1: cannot connect: [Errno 111] Connection refused: check the address, and that a broker listens there"
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=["orders", "audit"], partitions=2) as cluster:
        yield cluster


def test_help_says_which_options_can_be_repeated() -> None:
    options = [
        parameter
        for noun in registry.nouns()
        for name in registry.verb_names(noun)
        if (verb := registry.find_verb(noun, name)) is not None
        for parameter in verb_command(verb).params
        if isinstance(parameter, click.Option)
    ]
    assert len(options) > 100
    for option in options:
        assert (REPEATABLE in (option.help or "")) == option.multiple, option.opts


def test_help_of_a_repeatable_option_ends_with_its_default() -> None:
    done = kwire("reassign-partitions", "plan", "--help")

    text = " ".join(done.out.split())
    assert f"Plan only topics that match this pattern. {REPEATABLE} [default: all]. " in text


@for_rows(
    ("arguments", "message"),
    [
        (["topics", "list"], "name the cluster: give --bootstrap HOST:PORT, set KWIRE_BOOTSTRAP, or give --cluster"),
        (["topics", "crate"], "topics has no command 'crate': did you mean create"),
        (["topcs"], "no such command 'topcs': did you mean topics"),
        (["describe", "topics"], "no such command 'describe': write the noun first: topics describe"),
        (["get", "topic", "orders"], "no such command 'get': write the noun first: topics alter|create|delete|"),
        (["help", "topcs"], "no such command 'topcs': did you mean topics"),
        (["-b", "h:x", "topics", "list"], "Invalid value for --bootstrap"),
        (["-b", "http://h:1", "topics", "list"], "'http://h:1' is not the address of a broker: write host:port"),
    ],
    ids=[
        "no cluster",
        "misspelled verb",
        "misspelled noun",
        "verb before noun",
        "unknown verb before noun",
        "help",
        "invalid address",
        "URL",
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], message: str) -> None:
    run = kwire(*arguments)
    assert run.code == 2
    assert message in run.err
    assert run.out == ""


def test_invalid_arguments_exit_with_2(cluster: FakeCluster) -> None:
    run = kwire("-b", cluster.bootstrap, "topics", "create")
    assert (run.code, run.err) == (2, "Error: name at least one topic\n")


def test_wrong_usage_is_an_object_in_json() -> None:
    run = kwire("topics", "list", "-o", "json")
    assert run.code == 2
    error = json.loads(run.out)["error"]
    assert error["name"] == "UsageError"
    assert error["message"].startswith("name the cluster: ")
    assert error["message"] in run.err


def test_unreachable_cluster_exits_with_3() -> None:
    run = kwire("-b", "127.0.0.1:1", "--timeout", "0.5", "topics", "list", "-o", "json")
    assert run.code == 3
    assert json.loads(run.out)["error"]["name"] == "ConnectFailed"
    assert run.err == f"Error: {REFUSED}\n"


def test_tool_that_names_its_cluster_or_needs_none_does_not_connect_to_another(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    segment = tmp_path / "00000000000000000000.log"
    segment.touch()
    dead = {"KWIRE_BOOTSTRAP": "127.0.0.1:1"}
    topics = ["tools", "run", "topics", "--list"]
    named = kwire(*topics, "--bootstrap-server", cluster.bootstrap, **dead)
    assert (named.code, named.out) == (0, "audit\norders\n")
    assert kwire("tools", "run", "dump-log-segments", "--files", segment, **dead).code == 0
    assert kwire("tools", "list", **dead).code == 0
    assert kwire("--timeout", "0.5", *topics, **dead).code == 3


def test_misspelled_tool_is_suggested(cluster: FakeCluster) -> None:
    for options in ([], ["-b", cluster.bootstrap]):
        run = kwire(*options, "tools", "run", "get-ofset-shell")
        assert run.code == 2
        assert "tool get-ofset-shell is not installed here: did you mean get-offset-shell?" in run.err


def test_similar_topic_is_suggested_for_a_verb_that_looks_it_up(cluster: FakeCluster) -> None:
    run = kwire("-b", cluster.bootstrap, "offsets", "list", "ordrs")
    assert run.code == 1
    assert "; did you mean orders? (error 3 UNKNOWN_TOPIC_OR_PARTITION)" in run.err
    without_partition = kwire("-b", cluster.bootstrap, "offsets", "list", "orders:99")
    assert without_partition.code == 1
    assert "did you mean" not in without_partition.err


def test_bootstrap_can_be_set_in_the_environment_and_before_or_after_the_verb(cluster: FakeCluster) -> None:
    listed = kwire("topics", "list", KWIRE_BOOTSTRAP=cluster.bootstrap)
    assert listed.code == 0, listed.err
    assert (
        listed == kwire("-b", cluster.bootstrap, "topics", "list") == kwire("topics", "list", "-b", cluster.bootstrap)
    )
    assert listed.out.splitlines()[1].split() == ["audit", "2", "3", "no"]


def test_every_output_has_the_same_content(cluster: FakeCluster) -> None:
    def listed(output: str) -> str:
        return kwire("-b", cluster.bootstrap, "-o", output, "topics", "list").out

    rows = json.loads(listed("json"))
    assert [row["name"] for row in rows] == ["audit", "orders"]
    assert [json.loads(line) for line in listed("jsonl").splitlines()] == rows
    assert yaml.safe_load(listed("yaml")) == rows
    assert [row["name"] for row in csv.DictReader(io.StringIO(listed("csv")))] == ["audit", "orders"]


def test_empty_list_is_an_empty_array(cluster: FakeCluster) -> None:
    run = kwire("-b", cluster.bootstrap, "-o", "json", "topics", "list", "nosuch*")
    assert (run.code, json.loads(run.out)) == (0, [])


def test_table_on_a_terminal(cluster: FakeCluster) -> None:
    run = kwire_on_terminal("-b", cluster.bootstrap, "topics", "list", COLUMNS="100")
    assert run.code == 0
    assert "REPLICATION FACTOR" in run.out


def test_json_output_does_not_import_rich(cluster: FakeCluster) -> None:
    code = (
        "import sys; from kwire_admin.cli import run; "
        f"run(['-b', {cluster.bootstrap!r}, '-o', 'json', 'topics', 'list']); "
        "print(sorted({'rich', 'yaml', 'numpy', 'pydantic', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stderr.strip() == "[]"


class Http(socketserver.BaseRequestHandler):
    """Answers like a web server."""

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


class Garbage(socketserver.BaseRequestHandler):
    """Answers with a frame of other bytes."""

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.sendall(sized(b"\xff" * 100))
        self.request.recv(1 << 16)


class EndlessFrame(socketserver.BaseRequestHandler):
    """Answers with the size of a frame that nothing could hold."""

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.sendall(b"\x7f\xff\xff\xff")
        self.request.recv(1 << 16)


class Closing(socketserver.BaseRequestHandler):
    """Closes every connection."""


@for_rows(
    ("handler", "sentence"),
    [
        (Http, "HTTP"),
        (Garbage, "correlation id"),
        (EndlessFrame, "2147483647"),
        (Closing, "closed"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_server_that_is_not_a_broker_is_one_sentence(handler: type, sentence: str) -> None:
    with raw_server(handler) as address:
        run = kwire("-b", address, "--timeout", "1", "topics", "list")
    assert (run.code, run.out) == (3, "")
    assert run.err.startswith(f"Error: {address}: ")
    assert sentence in run.err
    assert len(run.err.splitlines()) == 1


def test_traceback_is_printed_on_request() -> None:
    for arguments in (["--debug", "topics", "list"], ["topics", "list", "--debug"]):
        run = kwire("-b", "127.0.0.1:1", "--timeout", "0.3", *arguments)
        assert run.code == 3
        assert run.err.startswith("Traceback")
        assert run.err.endswith(f"Error: {REFUSED}\n")


@for_rows(("debug", "traceback"), [((), False), (("--debug",), True)], ids=["plain", "debug"])
def test_unexpected_error_is_a_sentence_without_debug(debug: tuple[str, ...], traceback: bool) -> None:
    program = """
import sys
from kwire.cli import main
from kwire.client.admin import AdminClient
async def broken(self, **options):
    raise LookupError("a mistake")
AdminClient.topic_listings = broken
main()
"""
    with FakeCluster(1) as cluster:
        done = subprocess.run(
            [sys.executable, "-c", program, "-b", cluster.bootstrap, *debug, "topics", "list"],
            capture_output=True,
            text=True,
            env=environment(),
            check=False,
        )
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) is traceback
    assert "LookupError: a mistake" in done.stderr


def test_overrides_take_the_place_of_properties(cluster: FakeCluster, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("security.protocol=SSL\nclient.id=me\n", encoding="utf-8")
    arguments = ("-b", cluster.bootstrap, "--command-config", str(properties), "topics", "list")
    assert kwire(*arguments, "--timeout", "1").code == 4
    for run in (
        kwire("-X", "security.protocol=PLAINTEXT", *arguments),
        kwire(*arguments, "-X", "security.protocol=PLAINTEXT"),
    ):
        assert run.code == 0, run.err
    without_file = kwire("-b", cluster.bootstrap, "-X", "security.protocol=SSL", "--timeout", "1", "topics", "list")
    assert without_file.code == 4


@for_rows(
    ("override", "sentence"),
    [
        ("security.protocol", "'security.protocol' is not a property: write -X KEY=VALUE"),
        ("security.protocol=TLS", "expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("sasl.jaas.config=hidden-text", "all users of this machine can read the arguments of a command"),
        ("ssl.key.password=hidden-text", "all users of this machine can read the arguments of a command"),
    ],
    ids=["no value", "invalid value", "secret", "password"],
)
def test_invalid_override_is_explained(override: str, sentence: str) -> None:
    run = kwire("-b", "127.0.0.1:1", "-X", override, "topics", "list")
    assert run.code == 2
    assert sentence in run.err
    assert "hidden-text" not in run.err


def test_rows_of_a_verb_are_described_without_a_cluster() -> None:
    for arguments in (
        ["-o", "help", "groups", "reset-offsets", "g", "--to", "latest"],
        ["groups", "lag", "-o", "help"],
    ):
        run = kwire(*arguments)
        assert run.code == 0, run.err
        assert "topic " in run.out
        assert "number or null" in run.out
    assert "replicas that are in sync" in kwire("topics", "describe", "--output", "help").out


def test_keys_of_rows_are_only_ever_added() -> None:
    """Programs rely on the keys: a key that was released stays, with its type."""
    described = {
        f"{noun} {name} {key.path}: {key.type}"
        for noun in registry.nouns()
        for name in registry.verb_names(noun)
        if (verb := registry.find_verb(noun, name)) is not None
        for key in described_keys(verb.result)
    }
    if os.environ.get("KWIRE_WRITE_GOLDEN"):
        (GOLDEN / "rows.txt").write_text("\n".join(sorted(described)) + "\n", encoding="utf-8")
    released = (GOLDEN / "rows.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in released if line not in described] == []
