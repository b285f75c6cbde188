"""`read_only` and `cluster_id` of the configuration file hold for every verb and every tool, however it connects."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest

from kwire.terminal.cluster import ClusterChoice
from kwire_admin.cli.verb_run import VerbRun
from kwire_admin.cli.verb_session import VerbSession
from kwire_admin.operations import registry
from kwire_admin.operations.command_line import danger_of_words
from kwire_admin.operations.declaration import Need
from kwire_admin.operations.parameters import Danger, InvalidArgument
from kwire_zookeeper_tools import find_tools
from tests.operations.verbs.dry_runs import CHANGING

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTION_OPTIONS = {Need.BROKERS: "--bootstrap-server", Need.ZOOKEEPER: "--zookeeper"}


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Return a socket that listens where the cluster should be."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def address(server: socket.socket) -> str:
    return "{}:{}".format(*server.getsockname())


def run(noun: str, name: str, cluster: ClusterChoice, arguments: dict[str, Any], *, dry_run: bool = False) -> None:
    verb = registry.find_verb(noun, name)
    assert verb is not None
    VerbRun(verb, VerbSession(), cluster, arguments, {"dry_run": dry_run, "yes": True}).rows()


def assert_not_connected(server: socket.socket) -> None:
    with pytest.raises(BlockingIOError):
        server.accept()


def changing_tools(server: socket.socket) -> Iterator[dict[str, Any]]:
    """Return arguments of `tools run` for each tool that changes something, with connection options of its own."""
    for name, tool in find_tools().tools.items():
        if tool.highest_danger is Danger.READS:
            continue
        examples = [words for words in map(str.split, tool.examples) if danger_of_words(tool, words) > Danger.READS]
        assert examples, f"the help of {name} has an example that changes something"
        for need in tool.needs & CONNECTION_OPTIONS.keys():
            option = CONNECTION_OPTIONS[need]
            # Of an option that is given twice, the last value counts.
            yield {"tool": name, "arguments": [*examples[0], option, address(server)], "broker": None}


def test_read_only_cluster_refuses_every_change_before_it_connects(server: socket.socket) -> None:
    cluster = ClusterChoice("prod", address(server), read_only=True)
    runs: list[tuple[str, str, dict[str, Any]]] = [(*verb, {}) for verb in CHANGING if verb != ("tools", "run")]
    runs += [("tools", "run", arguments) for arguments in changing_tools(server)]
    runs += [("tools", "run", {"tool": "status", "arguments": [], "broker": "any"})]
    assert len(runs) > len(CHANGING)
    for noun, name, arguments in runs:
        with pytest.raises(InvalidArgument, match="cluster prod is read-only"):
            run(noun, name, cluster, arguments)
    assert_not_connected(server)


def test_expected_cluster_id_is_not_bypassed_by_options_of_a_tool(server: socket.socket) -> None:
    cluster = ClusterChoice("prod", address(server), cluster_id="expected")
    for arguments in changing_tools(server):
        with pytest.raises(InvalidArgument, match="which cannot be checked for a tool with connection options"):
            run("tools", "run", cluster, arguments)
    assert_not_connected(server)


def test_read_only_cluster_allows_dry_runs_and_tools_that_read(server: socket.socket) -> None:
    cluster = ClusterChoice("prod", address(server), read_only=True)
    listing = ["--list", "--zookeeper", "nosuch.invalid:1"]
    arguments = {"tool": "topics", "arguments": listing, "broker": None}
    run("tools", "run", cluster, arguments, dry_run=True)
    with pytest.raises(Exception, match=r"topics: ") as failure:
        run("tools", "run", cluster, {**arguments, "arguments": [*listing, "--time-limit", "0.1"]})
    assert "read-only" not in str(failure.value)
