"""Regular expressions of users take time that is linear in the text, wherever a node or a tool matches them."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kwire._kwire import Pattern
from kwire._util.child_process import is_running
from kwire.client.admin import AdminClient, NewTopic, OutcomeUnknown
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.topic_filter import TopicFilter
from kwire_cluster.config.principal_mapping import mapped_name, parse_rules
from kwire_cluster.node.node import Node
from kwire_cluster.node.tools import MAX_PROCESSES
from kwire_cluster.zookeeper import make_path
from kwire_zookeeper_tools.on_node import on_node
from tests.cluster.node.nodes import new_root, session, settings
from tests.eventually import eventually, eventually_sync

if TYPE_CHECKING:
    from pathlib import Path

    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

TOPIC = "a" * 60
BACKTRACKING = ("(a+)+b", "(a|a)*b", "(a|aa)+b", "(.*)*b", "(a*)*b", "([a-z]+)*b")
"""Expressions for which an engine that backtracks takes years to find that they do not match `TOPIC`."""


def test_engine_finds_what_an_engine_of_python_finds() -> None:
    rows = [
        ("a|ab", "ab", ["ab"]),
        ("(a)|(b)", "b", ["b", None, "b"]),
        ("^CN=([^,]+),.*$", "CN=é,OU=x", ["CN=é,OU=x", "é"]),
        ("a)|(b", "b", None),
        ("(?i)ORDERS", "orders", ["orders"]),
        (r"o\w+s", "orders", ["orders"]),
        ("", "", [""]),
        ("a", "aa", None),
    ]
    for text, subject, groups in rows:
        if text == "a)|(b":
            with pytest.raises(ValueError, match="without matching"):
                Pattern(text)
            continue
        pattern = Pattern(text)
        assert pattern.fullmatch(subject) == groups
        assert pattern.matches(subject) is (groups is not None)
        assert pattern.groups == text.count("(") - text.count("(?")
    assert Pattern("b").search("abc")
    assert not Pattern("^b").search("abc")


def test_expression_that_is_too_large_or_unsupported_is_refused_at_once() -> None:
    for text in ("(?!internal).*", r"(a)\1", "((x{99}){99}){99}", "x" * 40_000, "(" * 1000 + ")" * 1000, "["):
        with pytest.raises(InvalidArgument, match="is not a regular expression: "):
            TopicFilter(text)
        with pytest.raises(ValueError, match="is not a regular expression: "):
            parse_rules(f"RULE:{text.replace('/', '')}/x/")


def test_expressions_of_settings_are_linear() -> None:
    for text in BACKTRACKING:
        assert not TopicFilter(text).accepts(TOPIC)
        assert mapped_name(TOPIC, parse_rules(f"RULE:{text}/$0/,DEFAULT")) == TOPIC
    assert mapped_name("CN=Alice,OU=x", parse_rules(r"RULE:^CN=([^,]+),.*$/\$1-$1/L")) == r"\alice-alice"


async def test_node_answers_while_tools_match(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    hosts = await new_root(server)
    async with session(hosts) as store:  # the expression of a consumer is in a znode
        consumer = {"version": 1, "pattern": "white_list", "timestamp": "1", "subscription": {BACKTRACKING[0]: 1}}
        await make_path(store, "/consumers/app/ids/app_host-0")
        await store.set("/consumers/app/ids/app_host-0", json.dumps(consumer).encode())
    (tmp_path / TOPIC).touch()
    node = Node(settings(hosts, tools_folders=str(tmp_path)), on_node())
    await node.start()
    try:
        async with await AdminClient.open(f"{node.host}:{node.port}") as admin:
            (await admin.create_topics({TOPIC: NewTopic(partitions=1, replication_factor=1)})).raise_first()
            await admin.wait_until_created([TOPIC])
            runs: list[tuple[str, ...]] = [("topics", "--list", "--topic", pattern) for pattern in BACKTRACKING]
            runs += [
                ("topics", "--describe", "--topic", BACKTRACKING[0]),
                ("replica-verification-tool", "--topic-white-list", BACKTRACKING[0]),
                ("state-change-log-merger", "--logs-regex", f"{tmp_path}/{BACKTRACKING[0]}"),
                ("verify-consumer-rebalance", "--group", "app"),
            ]
            results = await asyncio.gather(*(admin.run_tool(name, words) for name, *words in runs))
            listed, (described, replicas, merged, rebalance) = results[:6], results[6:]
            assert [(result.exit_status, result.output) for result in listed] == [(0, "")] * 6
            assert (described.exit_status, described.output) == (0, "")
            assert replicas.output == "replica-verification-tool: no topic matches the expression\n"
            assert merged.output.startswith("state-change-log-merger: no file matches")
            assert (rebalance.exit_status, rebalance.output) == (0, "Rebalance operation successful !\n")
    finally:
        await node.stop(grace=0.5)


def test_signal_ends_a_node_with_endless_tools(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """The node runs as operators run it. It stops in order after SIGTERM, and its tools do not survive its SIGKILL."""
    hosts = asyncio.run(new_root(server))
    for number in (signal.SIGTERM, signal.SIGKILL):
        ready = tmp_path / f"ready-{number}.json"
        command = [sys.executable, "-m", "kwire", "node", "--id", "1", "--zookeeper", hosts, "--listen", "127.0.0.1:0"]
        with closing(socket.create_server(("127.0.0.1", 0))) as silent, (tmp_path / "log").open("wb") as log:
            node = subprocess.Popen([*command, "--ready-file", str(ready)], stdout=log, stderr=log)
            try:
                eventually_sync(ready.exists)
                facts = json.loads(ready.read_text())
                tools = asyncio.run(
                    _signal_with_endless_tools(f"{facts['host']}:{facts['port']}", silent, node, number)
                )
                assert node.wait(60) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
                eventually_sync(partial(_have_ended, tools))
            finally:
                node.kill()
                node.wait()


def _have_ended(processes: list[int]) -> bool:
    return not any(map(is_running, processes))


async def _signal_with_endless_tools(
    address: str, silent: socket.socket, node: subprocess.Popen[bytes], number: signal.Signals
) -> list[int]:
    """Run tools that wait for a server that never answers, check that the node answers, and send it a signal.

    Returns:
        The process ids of the tools.
    """
    zookeeper = f"127.0.0.1:{silent.getsockname()[1]}"

    def processes() -> list[int]:
        command = ["ps", "-o", "pid=,args=", "--ppid", str(node.pid)]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        return [int(line.split()[0]) for line in listed.stdout.splitlines() if "kwire_zookeeper_tools.process" in line]

    async with await AdminClient.open(address, timeout=300) as admin:
        words = ("--list", "--time-limit", "0", "--zookeeper", zookeeper)
        waiting = [asyncio.create_task(admin.run_tool("topics", words)) for _ in range(MAX_PROCESSES + 2)]
        await eventually(lambda: len(processes()) == MAX_PROCESSES)
        async with await AdminClient.open(address) as other:  # a connection answers in the order of its requests
            status = await other.run_tool("status")
        assert json.loads(status.output)["id"] == 1
        tools = processes()
        node.send_signal(number)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(outcome, OutcomeUnknown) for outcome in outcomes)
    return tools
