"""``EmbeddedZooKeeper``: a real ZooKeeper server of one's own, from the jars that PySpark brings along.

Rules of this file: one process at a time, told apart by its id; it listens on 127.0.0.1 only, and ends when the process
that started it ends, however that happens. Two servers on the same data would destroy them: the folder is locked before
anything in it is written, for as long as the server lives, also when it outlives us for a moment. What it printed is
kept, and is part of every error about it. Methods block; in an event loop use ``async with``, or ``asyncio.to_thread``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.child_process import ChildProcess
from kwire.errors import KwireError
from kwire.folder_lock import FolderLock

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

__all__ = ["CannotStart", "EmbeddedZooKeeper", "command"]

_SERVER = "org.apache.zookeeper.server.ZooKeeperServerMain"
# What the server needs of PySpark's jars: opening all three hundred doubles the time it takes to start.
_NEEDED = ("zookeeper-*", "slf4j-api-*", "log4j-*", "netty-*", "metrics-core-*", "snappy-java-*", "commons-io-*")


class CannotStart(KwireError):
    """There is no server, or it did not come up. ``reason``: with what to do about it; ``log``: its last output."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason, log)
        self.reason = reason
        self.log = log

    def __str__(self) -> str:
        return f"cannot start ZooKeeper: {self.reason}" + (f"\n{self.log}" if self.log else "")


class EmbeddedZooKeeper:
    """A server.

    ``data``: its folder, kept; without one, a folder is made and thrown away by ``close``. ``port``: 0 for a free one,
    which stays the same from start to start. ``classpath``: as for ``java -cp``; without one, PySpark's jars. ``tick``:
    seconds; sessions live at least two ticks. ``force_sync``: whether a write is on the disk before it is answered,
    which only matters when the machine fails: a killed process loses nothing. ``settings``: lines of ``zoo.cfg``.

        with EmbeddedZooKeeper() as server:
            print(server.hosts)
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        *,
        port: int = 0,
        classpath: str | None = None,
        java: str | None = None,
        heap: str = "512m",
        tick: float = 0.5,
        force_sync: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._keeps_data = data is not None
        self.data = Path(tempfile.mkdtemp(prefix="kwire-zookeeper-") if data is None else data)
        self.port = port
        self._port_is_given = port != 0
        self._classpath = classpath
        self._java = java
        self._heap = heap
        self._tick = tick
        self._force_sync = force_sync
        self._settings = dict(settings or {})
        self._process: ChildProcess | None = None
        self._lock: FolderLock | None = None

    @property
    def hosts(self) -> str:
        """For ``connect``, and for Kafka's ``zookeeper.connect``."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        return self._process.pid if self._process is not None else None

    @property
    def log(self) -> Path:
        """What it printed, from all its starts."""
        return self.data / "zookeeper.log"

    def start(self, timeout: float = 30.0) -> None:
        """Start it and wait until it serves. Errors: CannotStart; FolderInUse when another server has its folder."""
        if self._process is not None:
            return
        arguments = self._arguments()
        self.data.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(self.data, timeout=timeout)
        deadline = time.monotonic() + timeout
        try:
            while not self._serves(arguments, self._lock, deadline):
                self.port = 0  # somebody was faster
        except BaseException:
            self.kill()
            raise
        self._port_is_given = True

    def stop(self, timeout: float = 10.0) -> None:
        """End it as its operator would; by force after so many seconds."""
        if self._process is not None:
            self._process.stop(timeout)
        self._ended()

    def kill(self) -> None:
        """End it with SIGKILL, as a crash would."""
        if self._process is not None:
            self._process.kill()
        self._ended()

    def _ended(self) -> None:
        self._process = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def close(self) -> None:
        """Stop it, and throw its folder away unless it was given one."""
        self.stop()
        if not self._keeps_data:
            shutil.rmtree(self.data, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _arguments(self) -> list[str]:
        java = command(self._java)
        options = [f"-Xmx{self._heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]
        if not self._force_sync:
            options.append("-Dzookeeper.forceSync=no")
        classpath = self._classpath or _jars_of_pyspark()
        return [java, *options, "-cp", classpath, _SERVER, str(self.data / "zoo.cfg")]

    def _serves(self, arguments: list[str], lock: FolderLock, deadline: float) -> bool:
        """Start it, and True when it is there; False when another program has taken the port that we chose."""
        if not self.port:
            self.port = _free_port()
        self._write_settings()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._process = ChildProcess(arguments, self.log, descriptors=(lock.descriptor,))
        try:
            self._wait_until_it_serves(self._process, deadline)
        except CannotStart as error:
            self._process.kill()
            if "Address already in use" in error.log and not self._port_is_given:
                return False
            raise
        return True

    def _write_settings(self) -> None:
        settings = {
            "tickTime": str(round(self._tick * 1000)),
            "maxSessionTimeout": "60000",
            "maxClientCnxns": "0",
            "dataDir": str(self.data.absolute() / "data"),
            "clientPort": str(self.port),
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "srvr,ruok,mntr",
            **self._settings,
        }
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        (self.data / "zoo.cfg").write_text(text, encoding="utf-8")

    def _wait_until_it_serves(self, process: ChildProcess, deadline: float) -> None:
        while time.monotonic() < deadline:
            if (returncode := process.returncode) is not None:
                raise CannotStart(f"it ended with status {returncode}", self._log_tail())
            if "Zookeeper version" in _ask(self.port, b"srvr") and _ask(self.port, b"ruok") == "imok":
                if process.returncode is None:  # else another server has answered on this port
                    return
                continue
            time.sleep(0.02)
        raise CannotStart(f"it did not serve on port {self.port} in time", self._log_tail())

    def _log_tail(self) -> str:
        with self.log.open("rb") as output:
            output.seek(self._log_start)
            return output.read().decode(errors="replace")[-4000:].strip()


def command(java: str | None = None) -> str:
    """The Java to run: the given one, ``JAVA_HOME``'s, or the first on the path. Errors: CannotStart."""
    home = os.environ.get("JAVA_HOME")
    candidates = ["java"]
    if java:
        candidates = [java]
    elif home:
        candidates.insert(0, str(Path(home) / "bin" / "java"))
    for candidate in candidates:
        if found := shutil.which(candidate):
            return found
    raise CannotStart(f"no Java found ({', '.join(candidates)}): install Java 17 or newer, or set JAVA_HOME")


def _jars_of_pyspark() -> str:
    from importlib.util import find_spec

    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise CannotStart("its jars come with PySpark: pip install pyspark, or name others by `classpath`")
    folder = Path(spec.origin).parent / "jars"
    jars = sorted(str(jar) for name in _NEEDED for jar in folder.glob(f"{name}.jar"))
    if not any(Path(jar).name.startswith("zookeeper-") for jar in jars):
        raise CannotStart(
            f"no zookeeper-*.jar in {folder}: install pyspark 4 in full, or name other jars by `classpath`"
        )
    return os.pathsep.join(jars)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _ask(port: int, word: bytes) -> str:
    """One of ZooKeeper's four-letter words; empty while nobody answers."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
        connection.sendall(word)
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
        return answer.decode(errors="replace")
    return ""
