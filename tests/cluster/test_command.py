"""``kwire cluster``, as somebody at a terminal or a script uses it."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.child_process import is_running
from kwire.client.admin import BlockingAdminClient, NewTopic
from kwire.testing.local_cluster import is_node_of

if TYPE_CHECKING:
    from collections.abc import Iterator

KWIRE = (sys.executable, "-m", "kwire", "cluster")


def where(facts: dict[str, Any]) -> tuple[str, list[tuple[int, int]]]:
    return facts["zookeeper"], [(node["id"], node["port"]) for node in facts["nodes"]]


class Up:
    """A running ``kwire cluster up``."""

    def __init__(self, process: subprocess.Popen[str], ready: Path, printed: Path) -> None:
        self.process, self._ready, self.printed = process, ready, printed

    def facts(self) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while not self._ready.exists():
            assert self.process.poll() is None, self.printed.read_text(encoding="utf-8")
            assert time.monotonic() < deadline
            time.sleep(0.02)
        facts: dict[str, Any] = json.loads(self._ready.read_text(encoding="utf-8"))
        return facts

    def until_printed(self, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in self.printed.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def stopped(self, number: signal.Signals = signal.SIGTERM) -> str:
        self.process.send_signal(number)
        assert self.process.wait(60) == 0, self.printed.read_text(encoding="utf-8")
        assert not self._ready.exists()
        return self.printed.read_text(encoding="utf-8")


@contextmanager
def up(folder: Path, *options: str) -> Iterator[Up]:
    ready, printed = folder / "ready.json", folder / "printed"
    command = (*KWIRE, "up", "--ready-file", str(ready), *options)
    with printed.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, text=True)
    try:
        yield Up(process, ready, printed)
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def bootstrap(facts: dict[str, Any]) -> str:
    return ",".join(f"{node['host']}:{node['port']}" for node in facts["nodes"])


def kwire_cluster(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run((*KWIRE, *arguments), cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def start_node(node_id: int, data: Path | str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return kwire_cluster("start-node", "--id", str(node_id), "--data", str(data), folder=folder)


def content(folder: Path) -> dict[Path, bytes]:
    """Of the files that say where a cluster is; its data and its logs change all the time."""
    return {
        file: file.read_bytes() for end in ("json", "cfg", "properties", "_lock") for file in folder.rglob(f"*{end}")
    }


def test_a_folder_that_is_kept_goes_on_where_it_was_and_a_killed_node_comes_back(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    options = ("--data", str(data), "--set", "zookeeper.session.timeout.ms=1000")
    with up(tmp_path, *options) as first:
        facts = first.facts()
        assert [node["id"] for node in facts["nodes"]] == [1, 2, 3]
        with BlockingAdminClient(bootstrap(facts)) as admin:
            admin.create_topics({"kept": NewTopic(partitions=6, replication_factor=3)}).raise_first()
            admin.wait_until_created({"kept": 6})

            victim = facts["nodes"][1]
            os.kill(victim["pid"], signal.SIGKILL)
            first.until_printed("Node 2 has ended, killed by SIGKILL.")
            back = start_node(2, data)
            assert back.returncode == 0, back.stderr
            assert f"node 2 127.0.0.1:{victim['port']}" in back.stdout
            again = start_node(2, data)
            assert again.returncode != 0
            assert "node 2 runs already" in again.stderr
            unknown = start_node(9, data)
            assert unknown.returncode != 0
            assert "no folder of a cluster with a node 9" in unknown.stderr
            assert "Traceback" not in again.stderr + unknown.stderr
            admin.wait_until_created({"kept": 6})
        brought_back = json.loads((data / "node-2" / "ready.json").read_text(encoding="utf-8"))["pid"]
        assert is_node_of(brought_back, data / "node-2")
        first.stopped()
    for pid in (brought_back, *(node["pid"] for node in facts["nodes"])):
        assert not is_running(pid)

    with up(tmp_path, *options) as second:
        assert where(second.facts()) == where(facts)
        facts = second.facts()
        with BlockingAdminClient(bootstrap(facts)) as admin:
            assert admin.list_topics() == ["kept"]
            admin.wait_until_created({"kept": 6})
        second.stopped(signal.SIGINT)
    assert not any(is_running(node["pid"]) for node in facts["nodes"])


def test_a_cluster_in_use_is_not_touched_by_another_up(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    with up(tmp_path, "--nodes", "2", "--data", str(data)) as first:
        facts = first.facts()
        os.kill(facts["nodes"][1]["pid"], signal.SIGKILL)
        first.until_printed("Node 2 has ended")
        assert start_node(2, data).returncode == 0
        before = content(tmp_path)

        second = kwire_cluster("up", "--nodes", "2", "--data", "cluster", "--ready-file", "ready.json", folder=tmp_path)

        assert second.returncode == 1
        assert f"Error: {data} is in use by process {first.process.pid}" in second.stderr
        assert content(tmp_path) == before
        with BlockingAdminClient(bootstrap(facts)) as admin:
            admin.create_topics({"t": NewTopic(partitions=2, replication_factor=2)}).raise_first()
            admin.wait_until_created({"t": 2})
        first.stopped()


def test_a_running_node_is_known_however_its_folder_is_spelt(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "1", "--data", "cluster") as one:
        [node] = one.facts()["nodes"]
        for spelling in ("cluster", "../" + tmp_path.name + "/cluster", str(tmp_path / "cluster")):
            again = start_node(1, spelling, tmp_path)
            assert again.returncode == 1
            assert f"node 1 runs already, process {node['pid']}" in again.stderr
        one.stopped()


def test_a_cluster_that_was_killed_is_started_again_at_once(tmp_path: Path) -> None:
    """Also while a node that was brought back, which no process of the cluster watches, has not ended yet."""
    options = ("--nodes", "2", "--data", str(tmp_path / "cluster"), "--set", "zookeeper.session.timeout.ms=1000")
    with up(tmp_path, *options) as first:
        facts = first.facts()
        os.kill(facts["nodes"][1]["pid"], signal.SIGKILL)
        first.until_printed("Node 2 has ended")
        assert start_node(2, tmp_path / "cluster").returncode == 0
        with BlockingAdminClient(bootstrap(facts)) as admin:
            admin.create_topics({"t": NewTopic(partitions=2, replication_factor=1)}).raise_first()
        first.process.kill()
        first.process.wait()
        with up(tmp_path, *options) as second:
            second.until_printed("Starting")
            again = second.facts()
            with BlockingAdminClient(bootstrap(again)) as admin:
                admin.wait_until_created({"t": 2})
            second.stopped()
    assert where(again) == where(facts)


@contextmanager
def up_at_a_terminal(ready: Path, *options: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Process, terminal, and where all is."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*KWIRE, "up", "--nodes", "1", "--ready-file", str(ready), *options])
    try:
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield pid, terminal, json.loads(ready.read_text(encoding="utf-8"))
    finally:
        os.close(terminal)
        with suppress(ChildProcessError):  # it was waited for
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def rest_of(terminal: int) -> bytes:
    """What is printed until the terminal's last program has ended."""
    printed = b""
    with suppress(OSError):  # what a terminal says then
        while chunk := os.read(terminal, 4096):
            printed += chunk
    return printed


def test_control_c_at_a_terminal_stops_everything_in_order(tmp_path: Path) -> None:
    with up_at_a_terminal(tmp_path / "ready.json") as (pid, terminal, facts):
        os.write(terminal, b"\x03")
        printed = rest_of(terminal)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, printed
        assert b"Stopping ..." in printed
        assert not any(is_running(node["pid"]) for node in facts["nodes"])


def test_control_c_again_kills_what_does_not_stop(tmp_path: Path) -> None:
    """A node whose ZooKeeper does not answer cannot leave in order, and would be waited for."""
    ready = tmp_path / "ready.json"
    with up_at_a_terminal(ready, "--data", str(tmp_path / "cluster")) as (pid, terminal, facts):
        children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())
        [server] = [each for each in children if Path(f"/proc/{each}/comm").read_text(encoding="ascii") == "java\n"]
        os.kill(server, signal.SIGSTOP)
        os.write(terminal, b"\x03")
        printed = b""
        while b"Stopping ..." not in printed:
            printed += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        printed += rest_of(terminal)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 130, printed
        assert b"Traceback" not in printed
        assert not is_running(server)
        assert not any(is_running(node["pid"]) for node in facts["nodes"])
        assert not ready.exists()


def test_nothing_is_left_when_it_is_killed(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "2", "--data", str(tmp_path / "cluster")) as one:
        facts = one.facts()
        one.process.kill()
        deadline = time.monotonic() + 20
        while any(is_running(node["pid"]) for node in facts["nodes"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_setting_that_no_node_takes_is_told_with_its_log(tmp_path: Path) -> None:
    with up(tmp_path, "--set", "num.partitions=many") as one:
        assert one.process.wait(60) != 0
        printed = one.printed.read_text(encoding="utf-8")
    assert "num.partitions=many: it has to be a whole number" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--data", "/dev/null/x"), "--data: [Errno 20] Not a directory: '/dev/null/x'"),
        (("--ready-file", "none/r.json"), "--ready-file: [Errno 2] No such file or directory: 'none/r.json"),
        (("--set", "nothing"), "--set: 'nothing' has not the form NAME=VALUE"),
    ],
)
def test_what_cannot_be_is_wrong_usage_before_anything_is_started(
    arguments: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    refused = kwire_cluster("up", *arguments, folder=tmp_path)
    assert refused.returncode == 2
    assert f"Invalid value for {told}" in refused.stderr
    assert "Starting" not in refused.stdout


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b"{}",
        b'{"zookeeper": 1, "nodes": [], "pid": 1}',
        b'{"zookeeper": "a:1", "nodes": 1, "pid": 1}',
        b'{"zookeeper": "a:1", "nodes": [{"id": 1}], "pid": 1}',
    ],
    ids=repr,
)
def test_a_file_of_the_cluster_that_cannot_be_read_is_wrong_usage(broken: bytes, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(broken)
    for refused in (kwire_cluster("up", "--data", str(tmp_path)), start_node(1, tmp_path)):
        assert refused.returncode == 2
        assert f"Invalid value for --data: {file} cannot be read" in refused.stderr
    assert file.read_bytes() == broken


def test_a_node_that_the_cluster_has_no_more_and_a_cluster_that_is_gone_are_told(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    with up(tmp_path, "--nodes", "2", "--data", str(data)) as larger:
        larger.facts()
        larger.stopped()
    (tmp_path / "ready.json").write_text("of an earlier run that was killed", encoding="utf-8")
    with up(tmp_path, "--nodes", "1", "--data", str(data)) as smaller:
        smaller.until_printed("Starting")
        assert [node["id"] for node in smaller.facts()["nodes"]] == [1]
        gone = start_node(2, data)
        smaller.stopped()
    assert gone.returncode == 2
    assert f"{data} is no folder of a cluster with a node 2" in gone.stderr

    ended = start_node(1, data)
    assert ended.returncode == 1
    assert ended.stderr == (
        f"Error: the cluster in {data} does not run, process {smaller.process.pid} is gone: "
        f"kwire cluster up --data {data}\n"
    )


def test_zookeeper_takes_another_port_when_its_own_is_taken(tmp_path: Path) -> None:
    options = ("--nodes", "1", "--data", str(tmp_path / "cluster"))
    with up(tmp_path, *options) as first:
        facts = first.facts()
        first.stopped()
    host, _, port = facts["zookeeper"].partition(":")
    with socket.create_server((host, int(port))), up(tmp_path, *options) as second:
        again = second.facts()
        second.stopped()
    assert again["zookeeper"] != facts["zookeeper"]
    assert where(again)[1] == where(facts)[1]
