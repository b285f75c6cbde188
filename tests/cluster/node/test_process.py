"""``python -m kwire.cluster.node``: options, exit codes, signals, and the lines that it writes."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import BlockingAdminClient, NewTopic
from kwire.cluster.zookeeper import BrokerRegistration
from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from tests.cluster.node.nodes import new_root, session

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "kwire.cluster.node", *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ready(file: Path, process: subprocess.Popen[str]) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while not file.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return facts


def listens_to_signals(process: subprocess.Popen[str]) -> None:
    """Until it catches SIGTERM: before that, while it is still imported, it would end by the signal."""
    deadline = time.monotonic() + 30
    while True:
        assert process.poll() is None
        assert time.monotonic() < deadline
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        [caught] = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt:")]
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.02)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, printed = process.communicate(timeout=30)
    return process.returncode, printed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "broker.id=: a node cannot start without it"),
        (("--id", "x"), "--id=x: it has to be a whole number"),
        (("--id", "-1"), "--id=-1: it has to be between"),
        (("--id", "1", "--zookeeper", "a:1", "--listen", "nowhere"), "--listen=nowhere: it has to be one address"),
        (("--id", "1", "--zookeeper", ""), "--zookeeper=: it has to be host:port"),
        (("--id", "1", "--zookeeper", ":::"), "--zookeeper=:::: it has to be host:port"),
        (("--id", "1", "--zookeeper", "a:1", "--metrics", "m" * 100 + ":1"), "no host can have this name"),
        (("--id", "1", "--zookeeper", "a:1", "--ready-file", "none/r.json"), "No such file or directory: 'none/r.json"),
        (("--set", "nothing"), "it has not the form NAME=VALUE"),
        (("no-such.properties",), "No such file"),
    ],
)
def test_options_that_cannot_be_read_are_status_2(arguments: tuple[str, ...], told: str) -> None:
    with started(*arguments) as process:
        status, printed = ended(process)
    assert status == 2
    assert told in printed
    assert "Traceback" not in printed


def test_without_zookeeper_it_is_status_1() -> None:
    with started("--id=1", "--zookeeper=127.0.0.1:1", "--set=zookeeper.connection.timeout.ms=300") as process:
        status, printed = ended(process)
    assert status == 1
    assert "kwire.cluster.node: " in printed
    assert "127.0.0.1:1" in printed


def test_told_to_stop_before_it_is_there_it_stops() -> None:
    with started("--id=1", "--zookeeper=127.0.0.1:1") as process:
        listens_to_signals(process)
        process.terminate()
        status, _ = ended(process)
    assert status == 0


def test_a_ready_file_is_there_while_the_node_is_ready(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """One of an earlier run, which was killed, is gone before the node begins to connect."""
    file = tmp_path / "ready.json"
    file.write_text("earlier", encoding="ascii")
    with started("--id=1", "--zookeeper=127.0.0.1:1", f"--ready-file={file}") as process:
        listens_to_signals(process)
        assert not file.exists()
    root = asyncio.run(new_root(server))
    with started("--id=1", f"--zookeeper={root}", f"--ready-file={file}") as process:
        ready(file, process)
        process.terminate()
        status, _ = ended(process)
    assert status == 0
    assert not file.exists()


def test_a_ready_file_that_cannot_be_written_is_told_and_the_node_leaves(tmp_path: Path) -> None:
    """The folder goes while the node waits for ZooKeeper."""
    folder = tmp_path / "folder"
    folder.mkdir()
    server = EmbeddedZooKeeper(force_sync=False)
    with socket.create_server(("127.0.0.1", 0)) as free:
        server.port = free.getsockname()[1]
    options = (f"--ready-file={folder / 'ready.json'}", "--set=zookeeper.connection.timeout.ms=60000")
    with started("--id=1", f"--zookeeper={server.hosts}", *options) as process:
        listens_to_signals(process)
        folder.rmdir()
        with server:
            status, printed = ended(process)
            assert asyncio.run(registered(server.hosts)) == []
    assert status == 1
    assert f"kwire.cluster.node: [Errno 2] No such file or directory: '{folder / 'ready.json'}" in printed
    assert "Traceback" not in printed


async def registered(hosts: str) -> list[str]:
    async with session(hosts) as store:
        return await store.children(BrokerRegistration.root)


def test_its_lines_are_json_with_the_correlation_id_of_the_request(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    properties = tmp_path / "server.properties"
    root = asyncio.run(new_root(server))
    properties.write_text(f"broker.id=4\nzookeeper.connect={root}\nlog.dirs=/none\n", encoding="ascii")
    with started(str(properties), "--ready-file", str(file), "--set", "max.connections=50") as process:
        facts = ready(file, process)
        assert (facts["id"], facts["pid"]) == (4, process.pid)
        with BlockingAdminClient(f"127.0.0.1:{facts['port']}", client_id="écrivain") as admin:
            admin.create_topics({"t": NewTopic(partitions=1, replication_factor=1)}).raise_first()
        process.send_signal(signal.SIGINT)
        status, printed = ended(process)
    assert status == 0
    events = [json.loads(line) for line in printed.splitlines()]
    assert all({"event", "level", "at", "logger"} <= event.keys() for event in events)
    [begun] = [event for event in events if event["event"] == "node started"]
    assert begun["unused"] == ["log.dirs"]
    [answered] = [event for event in events if event.get("request") == "CreateTopicRequest_V2"]
    assert answered["client_id"] == "écrivain"
    assert isinstance(answered["correlation_id"], int)
    assert answered["peer"].startswith("127.0.0.1:")
    assert events[-1]["event"] == "node stopped"


def test_it_ends_with_another_process(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    root = asyncio.run(new_root(server))
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        with started("--id=1", f"--zookeeper={root}", f"--ready-file={file}", f"--end-with={other.pid}") as process:
            ready(file, process)
            other.kill()
            other.wait()
            status, _ = ended(process)
        assert status == 0
