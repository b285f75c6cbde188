"""Tests of starting, stopping, killing, and restarting the embedded server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

from kwire._util.child_process import is_running
from kwire._util.folder_lock import FolderInUse
from kwire_cluster.zookeeper import Stat, WatchEvent, WatchEventKind, connect, embedded_server
from kwire_cluster.zookeeper.embedded_server import KEPT_SNAPSHOTS, LARGE_LOG, CannotStart, EmbeddedZooKeeper
from kwire_cluster.zookeeper.errors import ConnectionLost, Unreachable
from kwire_cluster.zookeeper.zookeeper_store import WINDOW
from tests.eventually import eventually, eventually_sync

pytestmark = pytest.mark.usefixtures("java")


async def test_session_survives_kill_and_restart(tmp_path: Path) -> None:
    """The session continues and no acknowledged write is lost."""
    async with EmbeddedZooKeeper(tmp_path, force_sync=False) as server:
        store = await connect(server.hosts, session_timeout=20)
        states: list[str] = []
        store.listen(states.append)
        seen: list[WatchEvent] = []
        await store.create("/kept", b"1", ephemeral=True)
        await store.get("/kept", seen.append)
        session_id, port, pid = store.session_id, server.port, server.pid
        assert pid is not None
        outcomes: list[object] = []
        keep_writing = True

        async def write() -> None:
            """Keep hundreds of writes in flight."""
            pending: deque[asyncio.Future[Stat]] = deque()
            number = 0
            while pending or keep_writing:
                while keep_writing and len(pending) < 300:
                    number += 1
                    pending.append(store.set("/kept", b"%d" % number))
                outcomes.extend(await asyncio.gather(pending.popleft(), return_exceptions=True))

        writing = asyncio.create_task(write())
        await eventually(lambda: len(outcomes) > 100)

        await asyncio.to_thread(server.kill)

        assert not is_running(pid)
        assert server.pid is None
        await asyncio.to_thread(server.start)
        await eventually(lambda: states == ["suspended", "connected"])
        keep_writing = False
        await writing
        # Only the writes in flight have an unknown outcome.
        unknown = [index for index, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)]
        assert {type(outcomes[index]) for index in unknown} == {ConnectionLost}
        assert len(unknown) <= WINDOW
        assert unknown == list(range(unknown[0], unknown[-1] + 1))
        assert server.port == port
        assert (store.session_id, states) == (session_id, ["suspended", "connected"])
        node = await store.get("/kept")
        assert (node.data, node.stat.ephemeral_owner) == (b"%d" % len(outcomes), session_id)
        assert len(outcomes) - len(unknown) <= node.stat.version <= len(outcomes)
        # The first write fired the watch, long before the connection was lost.
        assert seen == [WatchEvent(WatchEventKind.CHANGED, "/kept")]
        await store.close()


def test_stopped_server_keeps_its_data(tmp_path: Path) -> None:
    server = EmbeddedZooKeeper(tmp_path / "new" / "folder", force_sync=False)
    with server:
        pid = server.pid
        assert pid is not None
        server.start()  # already running
        assert server.pid == pid
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"ruok")
            assert connection.recv(10) == b"imok"
    assert server.pid is None
    assert not is_running(pid)  # type: ignore[unreachable]  # it was set while the server ran
    assert (tmp_path / "new" / "folder" / "data" / "version-2").is_dir()
    server.stop()  # already stopped
    server.kill()


def test_temporary_data_directory_is_deleted() -> None:
    server = EmbeddedZooKeeper(force_sync=False)
    with server:
        assert server.log.exists()
    assert not server.data.exists()


def test_data_directory_has_one_server_at_a_time(tmp_path: Path) -> None:
    with EmbeddedZooKeeper(tmp_path, force_sync=False) as first:
        settings = (tmp_path / "zoo.cfg").read_bytes()
        second = EmbeddedZooKeeper(tmp_path, force_sync=False)
        with pytest.raises(FolderInUse) as rejected, second:
            pass
        assert (rejected.value.folder, rejected.value.process_id) == (tmp_path, os.getpid())
        assert (tmp_path / "zoo.cfg").read_bytes() == settings
        first.kill()
        first.start()
        with pytest.raises(FolderInUse):
            second.start()
        first.stop()
        with second:
            pass


def test_start_waits_for_a_server_that_outlives_its_owner(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper\n"
        "server = EmbeddedZooKeeper(sys.argv[1], force_sync=False); server.start()\n"
        "os.kill(server._process._guard.pid, signal.SIGSTOP)\n"
        "print(server.pid, server._process._guard.pid, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        server, guard = map(int, parent.stdout.readline().split())
        parent.kill()
        parent.wait()
        try:
            with pytest.raises(FolderInUse, match=f"process {parent.pid}"):
                EmbeddedZooKeeper(tmp_path, force_sync=False).start(timeout=0.5)
            assert is_running(server)
        finally:
            os.kill(guard, signal.SIGCONT)
        with EmbeddedZooKeeper(tmp_path, force_sync=False):
            assert not is_running(server)


def test_server_listens_on_the_loopback_address_only() -> None:
    with EmbeddedZooKeeper(force_sync=False) as server:
        listening = [
            line.split()[1]
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]
            if line.split()[1].endswith(f":{server.port:04X}") and line.split()[3] == "0A"
        ]
    assert [address.rpartition(":")[0][-8:] for address in listening] == ["0100007F"]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_server_ends_with_the_process_that_started_it(end: signal.Signals) -> None:
    program = (
        "import sys; from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper\n"
        "server = EmbeddedZooKeeper(force_sync=False); server.start()\n"
        "print(server.pid, server.data, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid_text, data = parent.stdout.readline().split()
        pid = int(pid_text)
        try:
            assert is_running(pid)
            parent.send_signal(end)
            parent.wait()
            eventually_sync(lambda: not is_running(pid), "the server has ended")
        finally:
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
            subprocess.run(["rm", "-r", data], check=True)


def test_large_log_is_moved_aside_when_the_server_starts(tmp_path: Path) -> None:
    server = EmbeddedZooKeeper(tmp_path, force_sync=False)
    old = tmp_path / "zookeeper.log.1"
    old.write_text("older")

    server.log.write_bytes(bytes(LARGE_LOG // 2))
    with server:
        assert server.log.stat().st_size >= LARGE_LOG // 2, "it is not large"
    assert old.read_text() == "older"

    server.log.write_bytes(bytes(LARGE_LOG + 1))
    with server:
        assert server.log.stat().st_size < LARGE_LOG
    assert old.stat().st_size == LARGE_LOG + 1


async def test_log_of_a_running_server_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_server, "LARGE_LOG", 20_000)
    monkeypatch.setattr(embedded_server, "LOG_LEVEL", "debug")
    old = tmp_path / "zookeeper.log.1"
    async with EmbeddedZooKeeper(tmp_path, force_sync=False) as server:
        store = await connect(server.hosts)
        await eventually(old.exists)
        for number in range(200):
            await store.create(f"/{number}", b"")
        await store.close()
    # While the server runs, it may be moving its log aside.
    sizes = {file.name: file.stat().st_size for file in tmp_path.glob("zookeeper.log*")}
    assert sizes.keys() == {"zookeeper.log", "zookeeper.log.1"}
    assert max(sizes.values()) < 25_000


def test_port_in_use_is_an_error_with_the_server_log(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = EmbeddedZooKeeper(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(CannotStart) as failed, server:
            pass
    assert "Address already in use" in failed.value.log
    assert "ended with status" in failed.value.reason
    assert server.pid is None


def test_missing_java_and_classes_are_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"no Java found .*install Java 17 or later, or set JAVA_HOME"):
        EmbeddedZooKeeper(tmp_path, java=str(tmp_path / "java")).start()
    with pytest.raises(CannotStart, match="Could not find or load main class"):
        EmbeddedZooKeeper(tmp_path, classpath=str(tmp_path / "*")).start()


def test_invalid_server_setting_is_an_error_with_the_server_log(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="initLimit"):
        EmbeddedZooKeeper(tmp_path, settings={"server.1": "127.0.0.1:1:2", "server.2": "127.0.0.1:3:4"}).start()


async def test_connect_fails_in_time_without_a_server() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        with pytest.raises(Unreachable) as failed:
            await connect(f"127.0.0.1:{port}", connect_timeout=0.3)
    assert (failed.value.hosts, failed.value.seconds) == (f"127.0.0.1:{port}", 0.3)


async def test_old_snapshots_are_deleted(tmp_path: Path) -> None:
    """Every start writes a snapshot."""
    for number in range(7):
        async with EmbeddedZooKeeper(tmp_path, force_sync=False) as server:
            store = await connect(server.hosts)
            await store.create(f"/n{number}")
            await store.close()
    async with EmbeddedZooKeeper(tmp_path, force_sync=False) as server:
        snapshots = tmp_path / "data" / "version-2"
        await eventually(lambda: len(list(snapshots.glob("snapshot.*"))) <= KEPT_SNAPSHOTS + 1)
        store = await connect(server.hosts)
        assert [name for name in await store.children("/") if name.startswith("n")] == [f"n{at}" for at in range(7)]
        await store.close()
