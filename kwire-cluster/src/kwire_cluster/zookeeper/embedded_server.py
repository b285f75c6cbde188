"""A ZooKeeper server in a child process.

- The server listens on 127.0.0.1 only and ends with the process that started it, even if that process is killed.
- Two servers would destroy each other's data. The data directory is locked before it is written to, and stays locked as
  long as the server runs, even if the server outlives its owner for a moment.
- The output of the server is kept and is part of every error.
- Methods block. In an event loop, use `async with` or `asyncio.to_thread`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kwire._util.child_process import ChildProcess
from kwire._util.folder_lock import FolderLock
from kwire.errors import KwireError
from kwire_cluster.zookeeper.server_jars import JarsMissing, server_classpath

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

# Unlike ZooKeeperServerMain, it deletes old snapshots and logs.
_SERVER = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


DEFAULT_PARTITIONS = 200_000
"""The partitions that the default heap has room for."""
LARGE_LOG = 1 << 20
"""Bytes of a log that is moved to `zookeeper.log.1`, when the server starts and while it runs."""
LOG_LEVEL = "error"
KEPT_SNAPSHOTS = 3
"""Snapshots that are kept, with the transaction logs since; older ones are deleted at the start and every hour."""
# Measured: 2.2 KB of live heap for each partition with three replicas. The last 500 transactions are in memory as well.
_PARTITION_BYTES = 4096
_BASE_MEGABYTES = 512


class CannotStart(KwireError):
    """The server cannot be started.

    Attributes:
        reason: the cause, and what to do about it.
        log: the last output of the server.
    """

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(reason, log)
        self.reason = reason
        self.log = log

    def __str__(self) -> str:
        return f"cannot start ZooKeeper: {self.reason}" + (f"\n{self.log}" if self.log else "")


class EmbeddedZooKeeper:
    """A ZooKeeper server.

        with EmbeddedZooKeeper() as server:
            print(server.hosts)

    Args:
        data: the data directory, which is kept; by default a temporary directory that `close` deletes.
        port: the port, 0 for a free one, which stays the same after a restart.
        classpath: the class path for `java -cp`; by default the jars of `server_jars`, which suffice
            without TLS (that needs Netty).
        java: the Java executable.
        partitions: the number of partitions that the maximum heap size is chosen for.
        tick: tick time in seconds. Session timeouts are at least two ticks.
        force_sync: true if a write is on disk before its response. This matters only if the machine fails: a killed
            process loses no data.
        settings: further lines of `zoo.cfg`.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        *,
        port: int = 0,
        classpath: str | None = None,
        java: str | None = None,
        partitions: int = DEFAULT_PARTITIONS,
        tick: float = 0.5,
        force_sync: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._keep_data = data is not None
        self.data = Path(tempfile.mkdtemp(prefix="kwire-zookeeper-") if data is None else data)
        self.port = port
        self._fixed_port = port != 0
        self._classpath = classpath
        self._java = java
        self._heap_megabytes = _BASE_MEGABYTES + math.ceil(partitions * _PARTITION_BYTES / 2**20)
        self._tick = tick
        self._force_sync = force_sync
        self._settings = dict(settings or {})
        self._process: ChildProcess | None = None
        self._lock: FolderLock | None = None

    @property
    def hosts(self) -> str:
        """The address for `connect` and for Kafka's `zookeeper.connect`."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        """The id of the running process."""
        return self._process.pid if self._process is not None else None

    @property
    def log(self) -> Path:
        """The file with the output of all starts."""
        return self.data / "zookeeper.log"

    def lock(self, timeout: float = 30.0) -> None:
        """Lock the data directory, which `start` does as well.

        Args:
            timeout: seconds to wait for the server of an owner that has ended.

        Raises:
            FolderInUse: another server uses the data directory.
        """
        if self._lock is None:
            self.data.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(self.data, timeout=timeout)

    def poll_ended(self) -> int | None:
        """Return the exit status of a server that has ended by itself since the last call, None otherwise.

        `start` then starts it again, at the same port.
        """
        if self._process is None or self._process.returncode is None:
            return None
        status = self._process.wait()
        self._release()
        return status

    def start(self, timeout: float = 30.0) -> None:
        """Start the server and wait until it accepts requests.

        Raises:
            CannotStart: the server did not start in time.
            FolderInUse: another server uses the data directory.
        """
        if self._process is not None:
            return
        arguments = self._arguments()
        self.lock(timeout)
        assert self._lock is not None
        deadline = time.monotonic() + timeout
        try:
            while not self._try_start(arguments, self._lock, deadline):
                self.port = 0  # another program took the port first
        except BaseException:
            self.kill()
            raise
        self._fixed_port = True

    def stop(self, timeout: float = 10.0) -> None:
        """Stop the server with SIGTERM, and kill it after `timeout` seconds."""
        if self._process is not None:
            self._process.stop(timeout)
        self._release()

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        if self._process is not None:
            self._process.kill()
        self._release()

    def _release(self) -> None:
        self._process = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def close(self) -> None:
        """Stop the server and delete its data directory if it is temporary."""
        self.stop()
        if not self._keep_data:
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
        options = [
            f"-Xmx{self._heap_megabytes}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={self.data / 'log4j2.properties'}",
        ]
        if not self._force_sync:
            options.append("-Dzookeeper.forceSync=no")
        try:
            classpath = self._classpath or server_classpath()
        except JarsMissing as error:
            raise CannotStart(str(error)) from None
        return [java, *options, "-cp", classpath, _SERVER, str(self.data / "zoo.cfg")]

    def _try_start(self, arguments: list[str], lock: FolderLock, deadline: float) -> bool:
        """Start the server, and return False if another program has taken the chosen port."""
        if not self.port:
            self.port = _free_port()
        self._write_settings()
        self._rotate_log()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._process = ChildProcess(arguments, self.log, descriptors=(lock.descriptor,))
        try:
            self._wait_until_ready(self._process, deadline)
        except CannotStart as error:
            self._process.kill()
            if "Address already in use" in error.log and not self._fixed_port:
                return False
            raise
        return True

    def _rotate_log(self) -> None:
        """Start a new log if the old one is large, and keep one old log."""
        if self.log.exists() and self.log.stat().st_size > LARGE_LOG:
            self.log.replace(self.log.with_name(f"{self.log.name}.1"))

    def _write_settings(self) -> None:
        settings = {
            "tickTime": str(round(self._tick * 1000)),
            "maxSessionTimeout": "60000",
            "maxClientCnxns": "0",
            "dataDir": str(self.data.absolute() / "data"),
            "clientPort": str(self.port),
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "autopurge.snapRetainCount": str(KEPT_SNAPSHOTS),
            "autopurge.purgeInterval": "1",
            "4lw.commands.whitelist": "srvr,ruok,mntr",
            **self._settings,
        }
        text = "".join(f"{key}={value}\n" for key, value in settings.items())
        (self.data / "zoo.cfg").write_text(text, encoding="utf-8")
        (self.data / "log4j2.properties").write_text(_log_settings(self.log), encoding="utf-8")

    def _wait_until_ready(self, process: ChildProcess, deadline: float) -> None:
        while time.monotonic() < deadline:
            if (returncode := process.returncode) is not None:
                raise CannotStart(f"the process ended with status {returncode}", self._log_tail())
            if "Zookeeper version" in _send_command(self.port, b"srvr") and _send_command(self.port, b"ruok") == "imok":
                if process.returncode is None:  # else another server has responded on this port
                    return
                continue
            time.sleep(0.02)
        raise CannotStart(f"the server did not accept requests on port {self.port} in time", self._log_tail())

    def _log_tail(self) -> str:
        with self.log.open("rb") as output:
            output.seek(self._log_start)
            return output.read().decode(errors="replace")[-4000:].strip()


def _log_settings(log: Path) -> str:
    """Return the properties of Log4j 2: one file and the one before it, each of at most `LARGE_LOG` bytes."""
    settings = {
        "status": "error",
        "appender.file.type": "RollingFile",
        "appender.file.name": "file",
        "appender.file.fileName": str(log.absolute()),
        "appender.file.filePattern": f"{log.absolute()}.%i",
        "appender.file.layout.type": "PatternLayout",
        "appender.file.layout.pattern": "%d{ISO8601} [%t] %p %c - %m%n",
        "appender.file.policy.type": "SizeBasedTriggeringPolicy",
        "appender.file.policy.size": str(LARGE_LOG),
        "appender.file.strategy.type": "DefaultRolloverStrategy",
        "appender.file.strategy.max": "1",
        "rootLogger.level": LOG_LEVEL,
        "rootLogger.appenderRef.file.ref": "file",
    }
    return "".join(f"{key} = {value}\n" for key, value in settings.items())


def command(java: str | None = None) -> str:
    """Return the Java executable: `java`, the one in `JAVA_HOME`, or the first on the path. Raises CannotStart."""
    home = os.environ.get("JAVA_HOME")
    candidates = ["java"]
    if java:
        candidates = [java]
    elif home:
        candidates.insert(0, str(Path(home) / "bin" / "java"))
    for candidate in candidates:
        if program := shutil.which(candidate):
            return program
    raise CannotStart(f"no Java found ({', '.join(candidates)}): install Java 17 or later, or set JAVA_HOME")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _send_command(port: int, command: bytes) -> str:
    """Send a four-letter word command, and return the response, empty while the server is unavailable."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
        connection.sendall(command)
        response = b""
        while chunk := connection.recv(4096):
            response += chunk
        return response.decode(errors="replace")
    return ""
