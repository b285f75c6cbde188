"""`kwire cluster`, from scripts and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from contextlib import chdir, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kwire._util.child_process import is_running
from kwire.client.admin import BlockingAdminClient, NewTopic, TopicDescription
from kwire_cluster.local.node_folder import NodeFolder
from tests.cli.running import Run, kwire
from tests.cluster.faults import create
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("java")

KWIRE = (sys.executable, "-m", "kwire", "cluster")


def ports(cluster: dict[str, Any]) -> tuple[str, list[tuple[int, int]]]:
    """Return the address of ZooKeeper, and the port of each node."""
    return cluster["zookeeper"], [(node["id"], node["port"]) for node in cluster["nodes"]]


class Up:
    """A running `kwire cluster up`."""

    def __init__(self, process: subprocess.Popen[str], ready_file: Path, printed: Path) -> None:
        self.process, self._ready_file, self.printed = process, ready_file, printed

    def wait_ready(self) -> dict[str, Any]:
        """Wait for the ready file, and return its content."""

        def is_ready() -> bool:
            assert self.process.poll() is None, self.printed.read_text(encoding="utf-8")
            return self._ready_file.exists()

        eventually_sync(is_ready, "the cluster is ready")
        content: dict[str, Any] = json.loads(self._ready_file.read_text(encoding="utf-8"))
        return content

    def wait_printed(self, text: str) -> None:
        eventually_sync(lambda: text in self.printed.read_text(encoding="utf-8"), text)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """Stop the cluster, and return what it printed."""
        self.process.send_signal(number)
        assert self.process.wait(120) == 0, self.printed.read_text(encoding="utf-8")
        assert not self._ready_file.exists()
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
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def bootstrap(cluster: dict[str, Any]) -> str:
    return ",".join(f"{node['host']}:{node['port']}" for node in cluster["nodes"])


def kwire_cluster(*arguments: str, folder: Path | None = None) -> Run:
    """Run a subcommand that ends by itself."""
    with chdir(folder or Path.cwd()):
        return kwire("cluster", *arguments)


def start_node(node_id: int, data: Path | str, folder: Path | None = None) -> Run:
    return kwire_cluster("start-node", "--id", str(node_id), "--data", str(data), folder=folder)


def restart_node(node_id: int, data: Path) -> None:
    """Kill a node and start it again, so that its parent is not its cluster any more."""
    pid = NodeFolder(data, node_id).pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually_sync(lambda: not is_running(pid), "the node has ended")
    done = start_node(node_id, data)
    assert done.code == 0, done.err


def settings_files(folder: Path) -> dict[Path, bytes]:
    """Return the files with addresses and settings; data and logs change all the time."""
    return {
        file: file.read_bytes() for end in ("json", "cfg", "properties", "_lock") for file in folder.rglob(f"*{end}")
    }


def test_data_directory_keeps_topics_and_ports_and_a_killed_node_is_restarted(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    options = ("--data", str(data), "--set", "zookeeper.session.timeout.ms=1000")
    with up(tmp_path, *options) as first:
        cluster = first.wait_ready()
        assert [node["id"] for node in cluster["nodes"]] == [1, 2, 3]
        with BlockingAdminClient(bootstrap(cluster)) as admin:
            create(admin, {"kept": NewTopic(partitions=6, replication_factor=3)})
            admin.wait_until_created({"kept": 6})

            victim = cluster["nodes"][1]
            os.kill(victim["pid"], signal.SIGKILL)
            first.wait_printed("Node 2 was killed by SIGKILL.")
            back = start_node(2, data)
            assert back.code == 0, back.err
            assert f"node 2 127.0.0.1:{victim['port']}" in back.out
            again = start_node(2, data)
            assert again.code != 0
            assert "node 2 is already running" in again.err
            unknown = start_node(9, data)
            assert unknown.code != 0
            assert "has no cluster with a node 9" in unknown.err
            assert "Traceback" not in again.err + unknown.err
            admin.wait_until_created({"kept": 6})
        restarted = json.loads((data / "node-2" / "ready.json").read_text(encoding="utf-8"))["pid"]
        assert NodeFolder(data, 2).is_run_by(restarted)
        first.stop()
    for pid in (restarted, *(node["pid"] for node in cluster["nodes"])):
        assert not is_running(pid)

    with up(tmp_path, *options) as second:
        assert ports(second.wait_ready()) == ports(cluster)
        cluster = second.wait_ready()
        with BlockingAdminClient(bootstrap(cluster)) as admin:
            assert admin.list_topics() == ["kept"]
            admin.wait_until_created({"kept": 6})
        second.stop(signal.SIGINT)
    assert not any(is_running(node["pid"]) for node in cluster["nodes"])


class RunningCluster(NamedTuple):
    """A cluster of two nodes, and the folder with its data and its ready file. Every test leaves both nodes running."""

    folder: Path
    up: Up

    @property
    def data(self) -> Path:
        return self.folder / "cluster"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    folder = tmp_path_factory.mktemp("running")
    options = ("--nodes", "2", "--data", "cluster", "--set", "zookeeper.session.timeout.ms=1000")
    with up(folder, *options) as process:
        process.wait_ready()
        yield RunningCluster(folder, process)
        process.stop()


def test_second_cluster_in_the_same_directory_is_rejected(running: RunningCluster) -> None:
    restart_node(2, running.data)
    before = settings_files(running.folder)

    second = kwire_cluster(
        "up", "--nodes", "2", "--data", "cluster", "--ready-file", "ready.json", folder=running.folder
    )

    assert second.code == 1
    assert f"Error: {running.data} is in use by process {running.up.process.pid}" in second.err
    assert settings_files(running.folder) == before
    with BlockingAdminClient(bootstrap(running.up.wait_ready())) as admin:
        create(admin, {"t": NewTopic(partitions=2, replication_factor=2)})
        admin.wait_until_created({"t": 2})


def test_running_node_is_recognized_by_any_path(running: RunningCluster) -> None:
    node = running.up.wait_ready()["nodes"][0]
    for spelling in ("cluster", f"../{running.folder.name}/cluster", str(running.data)):
        again = start_node(1, spelling, running.folder)
        assert again.code == 1
        assert f"node 1 is already running, process {node['pid']}" in again.err


def test_killed_cluster_can_be_started_again_immediately(tmp_path: Path) -> None:
    """A restarted node, which is not a child process of the cluster, may still be running."""
    options = ("--nodes", "2", "--data", str(tmp_path / "cluster"), "--set", "zookeeper.session.timeout.ms=1000")
    with up(tmp_path, *options) as first:
        cluster = first.wait_ready()
        os.kill(cluster["nodes"][1]["pid"], signal.SIGKILL)
        first.wait_printed("Node 2 was killed")
        assert start_node(2, tmp_path / "cluster").code == 0
        with BlockingAdminClient(bootstrap(cluster)) as admin:
            admin.create_topics({"t": NewTopic(partitions=2, replication_factor=1)}).raise_first()
        first.process.kill()
        first.process.wait()
        with up(tmp_path, *options) as second:
            second.wait_printed("Starting")
            again = second.wait_ready()
            with BlockingAdminClient(bootstrap(again)) as admin:
                admin.wait_until_created({"t": 2})
            second.stop()
    assert ports(again) == ports(cluster)


@contextmanager
def up_at_a_terminal(ready: Path, *options: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Run `kwire cluster up` in a pseudo-terminal; yield process id, terminal, and addresses."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*KWIRE, "up", "--nodes", "1", "--ready-file", str(ready), *options])
    try:
        eventually_sync(ready.exists, "the cluster is ready")
        yield pid, terminal, json.loads(ready.read_text(encoding="utf-8"))
    finally:
        os.close(terminal)
        with suppress(ChildProcessError):  # it was waited for
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def rest_of(terminal: int) -> bytes:
    """Return what is printed until the last program at the terminal has ended."""
    printed = b""
    with suppress(OSError):  # the terminal reports the end this way
        while chunk := os.read(terminal, 4096):
            printed += chunk
    return printed


def test_control_c_stops_the_cluster_with_controlled_shutdown(tmp_path: Path) -> None:
    with up_at_a_terminal(tmp_path / "ready.json") as (pid, terminal, cluster):
        os.write(terminal, b"\x03")
        printed = rest_of(terminal)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, printed
        assert b"Stopping ..." in printed
        assert not any(is_running(node["pid"]) for node in cluster["nodes"])


def test_second_control_c_kills_all_processes(tmp_path: Path) -> None:
    """Without ZooKeeper, nodes cannot complete a controlled shutdown, and stopping takes long."""
    ready = tmp_path / "ready.json"
    with up_at_a_terminal(ready, "--data", str(tmp_path / "cluster")) as (pid, terminal, cluster):
        children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())
        [server] = [child for child in children if Path(f"/proc/{child}/comm").read_text(encoding="ascii") == "java\n"]
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
        assert not any(is_running(node["pid"]) for node in cluster["nodes"])
        assert not ready.exists()


def test_nodes_end_with_a_killed_cluster(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "2", "--data", str(tmp_path / "cluster")) as one:
        cluster = one.wait_ready()
        one.process.kill()
        eventually_sync(lambda: not any(is_running(node["pid"]) for node in cluster["nodes"]), "all nodes have ended")


def test_invalid_setting_is_reported_with_the_log_of_the_node(tmp_path: Path) -> None:
    with up(tmp_path, "--set", "num.partitions=many") as one:
        assert one.process.wait(120) != 0
        printed = one.printed.read_text(encoding="utf-8")
    assert "num.partitions=many: expected an integer" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--data", "/dev/null/x"), r"--data: \[Errno \d+\] .*'/dev/null/x'"),
        (("--ready-file", "none/r.json"), r"--ready-file: \[Errno \d+\] .*'none/r.json"),
        (("--set", "nothing"), "--set: 'nothing' is not of the form NAME=VALUE"),
    ],
)
def test_wrong_usage_is_reported_before_anything_starts(arguments: tuple[str, ...], error: str, tmp_path: Path) -> None:
    rejected = kwire_cluster("up", *arguments, folder=tmp_path)
    assert rejected.code == 2
    assert re.search(f"Invalid value for {error}", rejected.err)
    assert "Starting" not in rejected.out


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
def test_malformed_cluster_file_is_reported(broken: bytes, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_bytes(broken)
    for rejected in (kwire_cluster("up", "--data", str(tmp_path)), start_node(1, tmp_path)):
        assert rejected.code == 2
        assert f"Invalid value for --data: {file} cannot be read" in rejected.err
    assert file.read_bytes() == broken


def test_start_node_needs_a_running_cluster_with_that_node(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    with up(tmp_path, "--nodes", "2", "--data", str(data)) as larger:
        larger.wait_ready()
        larger.stop()
    (tmp_path / "ready.json").write_text("of an earlier run that was killed", encoding="utf-8")
    with up(tmp_path, "--nodes", "1", "--data", str(data)) as smaller:
        smaller.wait_printed("Starting")
        assert [node["id"] for node in smaller.wait_ready()["nodes"]] == [1]
        removed = start_node(2, data)
        smaller.stop()
    assert removed.code == 2
    assert f"{data} has no cluster with a node 2" in removed.err

    ended = start_node(1, data)
    assert ended.code == 1
    assert ended.err == (
        f"Error: the cluster in {data} is not running (process {smaller.process.pid} has ended): "
        f"start it with kwire cluster up --data {data}\n"
    )


def test_zookeeper_uses_another_port_if_its_own_is_in_use(tmp_path: Path) -> None:
    options = ("--nodes", "1", "--data", str(tmp_path / "cluster"))
    with up(tmp_path, *options) as first:
        cluster = first.wait_ready()
        first.stop()
    host, _, port = cluster["zookeeper"].partition(":")
    with socket.create_server((host, int(port))), up(tmp_path, *options) as second:
        again = second.wait_ready()
        second.stop()
    assert again["zookeeper"] != cluster["zookeeper"]
    assert ports(again)[1] == ports(cluster)[1]


def test_racks_are_assigned_in_turn_and_a_running_zookeeper_is_used(tmp_path: Path) -> None:
    """The second cluster has a path of its own in the ZooKeeper of the first."""
    first_folder, second_folder = tmp_path / "first", tmp_path / "second"
    first_folder.mkdir()
    second_folder.mkdir()
    with up(first_folder, "--nodes", "1") as first:
        hosts = first.wait_ready()["zookeeper"]
        data = second_folder / "data"
        options = ("--nodes", "3", "--rack", "east", "--rack", "west", "--zookeeper", f"{hosts}/second")
        with up(second_folder, *options, "--data", str(data)) as second:
            cluster = second.wait_ready()
            assert cluster["zookeeper"] == f"{hosts}/second"
            with BlockingAdminClient(bootstrap(cluster)) as admin:
                admin.create_topics({"spread": NewTopic(partitions=6, replication_factor=2)}).raise_first()
                admin.wait_until_created({"spread": 6})
                topic = admin.describe_topics(["spread"])["spread"]
            assert isinstance(topic, TopicDescription)
            assert all(2 in partition.replicas for partition in topic.partitions), "node 2 is the only one in its rack"
            assert "Starting 3 nodes in" in second.stop()
            assert not (data / "zookeeper").exists()
        with BlockingAdminClient(bootstrap(first.wait_ready())) as admin:
            assert [broker.id for broker in admin.describe_cluster().brokers] == [1], (
                "the other cluster is not affected"
            )


def test_invalid_zookeeper_is_a_usage_error() -> None:
    run = kwire_cluster("up", "--zookeeper", "nosuch:port:1")
    assert run.code == 2
    assert "--zookeeper" in run.err


def zookeeper_pid(data: Path) -> int:
    """Return the process id of the ZooKeeper of a cluster folder."""
    config = os.fsencode(data / "zookeeper" / "zoo.cfg")
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if config in path.read_bytes().split(b"\0"):
                return int(path.parent.name)
    return 0


def test_killed_zookeeper_is_started_again(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    with up(tmp_path, "--nodes", "2", "--data", str(data), "--set", "zookeeper.session.timeout.ms=2000") as cluster:
        addresses = cluster.wait_ready()
        with BlockingAdminClient(bootstrap(addresses)) as admin:
            create(admin, {"before": NewTopic(partitions=2, replication_factor=2)})
            for name in ("first", "second"):
                killed = zookeeper_pid(data)
                assert killed
                os.kill(killed, signal.SIGKILL)
                eventually_sync(partial(is_another_zookeeper, data, killed), "ZooKeeper was started again")
                cluster.wait_printed(f"ZooKeeper is running again, process {zookeeper_pid(data)}.")
                create(admin, {name: NewTopic(partitions=2, replication_factor=2)})
            admin.wait_until_created({"before": 2, "first": 2, "second": 2})
        printed = cluster.stop()
    assert printed.count("ZooKeeper was killed by SIGKILL: starting it again.") == 2


def is_another_zookeeper(data: Path, pid: int) -> bool:
    """Return whether the cluster has another ZooKeeper than the process with this id."""
    return zookeeper_pid(data) not in {0, pid}


def test_cluster_ends_if_zookeeper_cannot_be_started_again(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    with up(tmp_path, "--nodes", "1", "--data", str(data)) as cluster:
        cluster.wait_ready()
        (data / "zookeeper" / "data" / "version-2").rename(tmp_path / "moved")
        (data / "zookeeper" / "data" / "version-2").write_bytes(b"not a folder")
        killed = zookeeper_pid(data)
        assert killed
        os.kill(killed, signal.SIGKILL)
        assert cluster.process.wait(120) == 1
        assert "cannot start ZooKeeper" in cluster.printed.read_text(encoding="utf-8")


def test_ready_file_of_another_running_cluster_is_refused(running: RunningCluster) -> None:
    before = settings_files(running.folder)
    options = ("--nodes", "1", "--data", "second", "--ready-file", "ready.json")
    second = kwire_cluster("up", *options, folder=running.folder)
    assert second.code == 2
    assert f"belongs to the running process {running.up.process.pid}" in " ".join(second.err.split())
    assert {path: data for path, data in settings_files(running.folder).items() if path in before} == before


def test_restarted_node_is_listed_with_its_new_process_id(running: RunningCluster) -> None:
    old = running.up.wait_ready()["nodes"][1]
    restart_node(2, running.data)
    for file in (running.folder / "ready.json", running.data / "cluster.json"):
        listed = json.loads(file.read_text(encoding="utf-8"))["nodes"][1]
        assert listed["pid"] != old["pid"]
        assert is_running(listed["pid"])
        assert {**listed, "pid": 0} == {**old, "pid": 0}


def test_nothing_is_ended_while_zookeeper_of_the_folder_belongs_to_another_process(tmp_path: Path) -> None:
    data = tmp_path / "cluster"
    with up(tmp_path, "--nodes", "1", "--data", str(data)) as cluster:
        [node] = cluster.wait_ready()["nodes"]
        os.kill(node["pid"], signal.SIGKILL)
        cluster.wait_printed("Node 1 was killed")
        assert start_node(1, data).code == 0
        pid = NodeFolder(data, 1).pid()
        assert pid is not None
        (data / "_lock").unlink()  # as if another program had removed it
        second = kwire_cluster("up", "--nodes", "1", "--data", str(data))
        assert second.code == 1
        assert "is in use by process" in second.err
        assert NodeFolder(data, 1).pid() == pid
        cluster.stop()
