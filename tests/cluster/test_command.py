"""``kwire cluster``, as somebody at a terminal or a script uses it."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.child_process import runs
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
        assert not runs(pid)

    with up(tmp_path, *options) as second:
        assert where(second.facts()) == where(facts)
        facts = second.facts()
        with BlockingAdminClient(bootstrap(facts)) as admin:
            assert admin.list_topics() == ["kept"]
            admin.wait_until_created({"kept": 6})
        second.stopped(signal.SIGINT)
    assert not any(runs(node["pid"]) for node in facts["nodes"])


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
    options = ("--nodes", "2", "--data", str(tmp_path / "cluster"))
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
            again = second.facts()
            with BlockingAdminClient(bootstrap(again)) as admin:
                admin.wait_until_created({"t": 2})
            second.stopped()
    assert where(again) == where(facts)


def test_control_c_at_a_terminal_stops_everything_in_order(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*KWIRE, "up", "--nodes", "1", "--ready-file", str(ready)])
    printed = b""
    try:
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        facts = json.loads(ready.read_text(encoding="utf-8"))
        os.write(terminal, b"\x03")
        with suppress(OSError):  # what a terminal says when its last program has ended
            while chunk := os.read(terminal, 4096):
                printed += chunk
        _, status = os.waitpid(pid, 0)
        pid = 0
        assert os.waitstatus_to_exitcode(status) == 0, printed
        assert b"Stopping ..." in printed
        assert not any(runs(node["pid"]) for node in facts["nodes"])
    finally:
        os.close(terminal)
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_nothing_is_left_when_it_is_killed(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "2", "--data", str(tmp_path / "cluster")) as one:
        facts = one.facts()
        one.process.kill()
        deadline = time.monotonic() + 20
        while any(runs(node["pid"]) for node in facts["nodes"]):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_setting_that_no_node_takes_is_told_with_its_log(tmp_path: Path) -> None:
    with up(tmp_path, "--set", "num.partitions=many") as one:
        assert one.process.wait(60) != 0
        printed = one.printed.read_text(encoding="utf-8")
    assert "num.partitions=many: it has to be a whole number" in printed
    assert "Traceback" not in printed
