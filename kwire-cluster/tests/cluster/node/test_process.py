"""`kwire node`: options, exit codes, signals, and log lines."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import BlockingAdminClient, NewTopic
from kwire_cluster.zookeeper import BrokerRegistration
from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.cli.running import kwire
from tests.cluster.node.nodes import new_root, session
from tests.eventually import eventually_sync
from tests.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "kwire", "node", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_ready(file: Path, process: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the ready file, and return its content."""

    def is_ready() -> bool:
        assert process.poll() is None
        return file.exists()

    eventually_sync(is_ready, "the node is ready")
    facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return facts


def wait_for_signal_handlers(process: subprocess.Popen[str]) -> None:
    """Wait until the process catches SIGTERM, which would kill it while it imports modules."""

    def catches_sigterm() -> int:
        assert process.poll() is None
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        [caught] = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt:")]
        return caught >> (signal.SIGTERM - 1) & 1

    eventually_sync(catches_sigterm, "the process catches SIGTERM")


def wait_ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, printed = process.communicate(timeout=60)
    return process.returncode, printed


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "broker.id: a node requires this setting"),
        (("--id", "x"), "broker.id=x: expected an integer"),
        (("--id", "-1"), "broker.id=-1: expected an integer from 0"),
        (("--id", "1", "--zookeeper", "a:1", "--listen", "nowhere"), "listeners=nowhere: expected one address"),
        (("--id", "1", "--zookeeper", ""), "zookeeper.connect: the address of ZooKeeper '': expected HOST:PORT"),
        (("--id", "1", "--zookeeper", ":::"), "zookeeper.connect=:::: the address of ZooKeeper"),
        (("--id", "1", "--zookeeper", "a:1", "--metrics", "m" * 100 + ":1"), "invalid host name"),
        (("--id", "1", "--set", "broker.id=x"), "broker.id=x: expected an integer"),
        (("--id", "1", "--zookeeper", "a:1", "--ready-file", "none/r.json"), "Invalid value for --ready-file"),
        (("--set", "nothing"), "Invalid value for --set: 'nothing' is not of the form NAME=VALUE"),
        (("no-such.properties",), "Invalid value for SERVER.PROPERTIES"),
    ],
)
def test_invalid_options_exit_with_status_2(arguments: tuple[str, ...], error: str) -> None:
    done = kwire("node", *arguments)
    assert done.code == 2
    assert error in done.err
    assert "Traceback" not in done.err


def test_unreachable_zookeeper_exits_with_status_1() -> None:
    with started("--id=1", "--zookeeper=127.0.0.1:1", "--set=zookeeper.connection.timeout.ms=300") as process:
        status, printed = wait_ended(process)
    assert status == 1
    assert "Error: " in printed
    assert "127.0.0.1:1" in printed
    assert "Traceback" not in printed


def test_sigterm_stops_a_node_that_is_starting() -> None:
    with started("--id=1", "--zookeeper=127.0.0.1:1") as process:
        wait_for_signal_handlers(process)
        process.terminate()
        status, _ = wait_ended(process)
    assert status == 0


def test_ready_file_exists_while_the_node_is_ready(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    file.write_text("of an earlier run that was killed", encoding="ascii")
    with started("--id=1", "--zookeeper=127.0.0.1:1", f"--ready-file={file}") as process:
        wait_for_signal_handlers(process)
        assert not file.exists()
    root = asyncio.run(new_root(server))
    with started("--id=1", f"--zookeeper={root}", f"--ready-file={file}") as process:
        wait_ready(file, process)
        process.terminate()
        status, _ = wait_ended(process)
    assert status == 0
    assert not file.exists()


@pytest.mark.usefixtures("java")
def test_node_leaves_the_cluster_if_it_cannot_write_the_ready_file(tmp_path: Path) -> None:
    """The folder is removed while the node waits for ZooKeeper."""
    folder = tmp_path / "folder"
    folder.mkdir()
    server = EmbeddedZooKeeper(force_sync=False)
    [server.port] = free_ports(1)
    options = (f"--ready-file={folder / 'ready.json'}", "--set=zookeeper.connection.timeout.ms=60000")
    with started("--id=1", f"--zookeeper={server.hosts}", *options) as process:
        wait_for_signal_handlers(process)
        folder.rmdir()
        with server:
            status, printed = wait_ended(process)
            assert asyncio.run(registered(server.hosts)) == []
    assert status == 1
    assert "Error: " in printed
    assert str(folder / "ready.json") in printed
    assert "Traceback" not in printed


async def registered(hosts: str) -> list[str]:
    async with session(hosts) as store:
        return await store.children(BrokerRegistration.root)


def test_set_overrides_options_and_options_override_the_file(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    properties = tmp_path / "server.properties"
    root = asyncio.run(new_root(server))
    properties.write_text(f"broker.id=4\nzookeeper.connect={root}\nlisteners=nowhere\n", encoding="ascii")
    options = ("--id=5", "--listen=127.0.0.1:0", "--set", "broker.id=6")
    with started(str(properties), "--ready-file", str(file), *options) as process:
        assert wait_ready(file, process)["id"] == 6


def test_log_lines_are_json_with_the_correlation_id(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    properties = tmp_path / "server.properties"
    root = asyncio.run(new_root(server))
    properties.write_text(f"broker.id=4\nzookeeper.connect={root}\nlog.dirs=/none\n", encoding="ascii")
    with started(str(properties), "--ready-file", str(file), "--set", "max.connections=50") as process:
        facts = wait_ready(file, process)
        assert (facts["id"], facts["pid"]) == (4, process.pid)
        with BlockingAdminClient(f"127.0.0.1:{facts['port']}", client_id="écrivain") as admin:
            admin.create_topics({"t": NewTopic(partitions=1, replication_factor=1)}).raise_first()
        process.send_signal(signal.SIGINT)
        status, printed = wait_ended(process)
    assert status == 0
    events = [json.loads(line) for line in printed.splitlines()]
    assert all({"event", "level", "at", "logger"} <= event.keys() for event in events)
    [start] = [event for event in events if event["event"] == "node started"]
    assert start["unused"] == ["log.dirs"]
    [completed] = [event for event in events if event.get("request") == "CreateTopicRequest_V2"]
    assert completed["event"] == "request completed"
    assert completed["client_id"] == "écrivain"
    assert isinstance(completed["correlation_id"], int)
    assert completed["peer"].startswith("127.0.0.1:")
    assert events[-1]["event"] == "node stopped"


def test_node_stops_when_another_process_ends(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    root = asyncio.run(new_root(server))
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        with started("--id=1", f"--zookeeper={root}", f"--ready-file={file}", f"--end-with={other.pid}") as process:
            wait_ready(file, process)
            other.kill()
            other.wait()
            status, _ = wait_ended(process)
        assert status == 0
