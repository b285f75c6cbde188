"""The server of one's own: started, awaited, stopped, killed, started again on the same data; never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import pytest

from kwire.child_process import is_running
from kwire.cluster.zookeeper import Stat, WatchEvent, connect
from kwire.cluster.zookeeper.embedded_server import CannotStart, EmbeddedZooKeeper
from kwire.cluster.zookeeper.errors import ConnectionLost, Unreachable
from kwire.cluster.zookeeper.kazoo_store import WINDOW
from kwire.folder_lock import FolderInUse
from tests.cluster.zookeeper.ensembles import in_loop, until


def until_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.01)


@in_loop
async def test_it_is_killed_and_restarted_on_the_same_data(tmp_path: Path) -> None:
    """And the same session goes on; nothing that was answered is lost."""
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
        write_on = True

        async def write() -> None:
            """Hundreds of writes are always under way."""
            pending: deque[asyncio.Future[Stat]] = deque()
            number = 0
            while pending or write_on:
                while write_on and len(pending) < 300:
                    number += 1
                    pending.append(store.set("/kept", b"%d" % number))
                outcomes.extend(await asyncio.gather(pending.popleft(), return_exceptions=True))

        writing = asyncio.create_task(write())
        await until(lambda: len(outcomes) > 100)

        await asyncio.to_thread(server.kill)

        assert not is_running(pid)
        assert server.pid is None
        await asyncio.to_thread(server.start)
        await until(lambda: states == ["suspended", "connected"], seconds=30)
        write_on = False
        await writing
        # In doubt is what was on its way; the others are done, before or after.
        doubtful = [index for index, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)]
        assert {type(outcomes[index]) for index in doubtful} == {ConnectionLost}
        assert len(doubtful) <= WINDOW
        assert doubtful == list(range(doubtful[0], doubtful[-1] + 1))
        assert server.port == port
        assert (store.session_id, states) == (session_id, ["suspended", "connected"])
        node = await store.get("/kept")
        assert (node.data, node.stat.ephemeral_owner) == (b"%d" % len(outcomes), session_id)
        assert len(outcomes) - len(doubtful) <= node.stat.version <= len(outcomes)
        # The first write fired the watch, long before the connection was lost.
        assert seen == [WatchEvent("changed", "/kept")]
        await store.close()


def test_it_is_stopped_in_order_and_its_data_are_kept(tmp_path: Path) -> None:
    server = EmbeddedZooKeeper(tmp_path / "new" / "folder", force_sync=False)
    with server:
        pid = server.pid
        assert pid is not None
        server.start()  # it runs already
        assert server.pid == pid
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"ruok")
            assert connection.recv(10) == b"imok"
    assert server.pid is None
    assert not is_running(pid)  # type: ignore[unreachable]  # it was something else while it ran
    assert (tmp_path / "new" / "folder" / "data" / "version-2").is_dir()
    server.stop()  # it is stopped already
    server.kill()


def test_a_folder_of_its_own_is_thrown_away() -> None:
    server = EmbeddedZooKeeper(force_sync=False)
    with server:
        assert server.log.exists()
    assert not server.data.exists()


def test_a_folder_has_one_server_at_a_time(tmp_path: Path) -> None:
    with EmbeddedZooKeeper(tmp_path, force_sync=False) as first:
        settings = (tmp_path / "zoo.cfg").read_bytes()
        second = EmbeddedZooKeeper(tmp_path, force_sync=False)
        with pytest.raises(FolderInUse) as refused, second:
            pass
        assert (refused.value.folder, refused.value.process_id) == (tmp_path, os.getpid())
        assert (tmp_path / "zoo.cfg").read_bytes() == settings
        first.kill()
        first.start()
        with pytest.raises(FolderInUse):
            second.start()
        first.stop()
        with second:
            pass


def test_a_server_that_outlives_its_owner_is_waited_for(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper\n"
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


def test_it_listens_on_this_machine_only() -> None:
    with EmbeddedZooKeeper(force_sync=False) as server:
        listening = [
            line.split()[1]
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]
            if line.split()[1].endswith(f":{server.port:04X}") and line.split()[3] == "0A"
        ]
    assert [address.rpartition(":")[0][-8:] for address in listening] == ["0100007F"]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_the_process_that_started_it(end: signal.Signals) -> None:
    program = (
        "import sys; from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper\n"
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
            until_gone(pid)
        finally:
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
            subprocess.run(["rm", "-r", data], check=True)


def test_a_port_that_is_taken_is_an_error_with_what_the_server_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = EmbeddedZooKeeper(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(CannotStart) as failed, server:
            pass
    assert "Address already in use" in failed.value.log
    assert "ended with status" in failed.value.reason
    assert server.pid is None


def test_missing_java_and_missing_jars_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CannotStart, match=r"no Java found .*install Java 17 or newer, or set JAVA_HOME"):
        EmbeddedZooKeeper(tmp_path, java=str(tmp_path / "java")).start()
    with pytest.raises(CannotStart, match="Could not find or load main class"):
        EmbeddedZooKeeper(tmp_path, classpath=str(tmp_path / "*")).start()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(CannotStart, match="pip install pyspark, or name others by `classpath`"):
        EmbeddedZooKeeper(tmp_path).start()


def test_a_setting_that_the_server_refuses_is_an_error_in_its_words(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="initLimit"):
        EmbeddedZooKeeper(tmp_path, settings={"server.1": "127.0.0.1:1:2", "server.2": "127.0.0.1:3:4"}).start()


@in_loop
async def test_nobody_there_is_an_error_in_time() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        with pytest.raises(Unreachable) as failed:
            await connect(f"127.0.0.1:{port}", connect_timeout=0.3)
    assert (failed.value.hosts, failed.value.seconds) == (f"127.0.0.1:{port}", 0.3)
