"""A Java server as a child process, which ends with this process. Its log and output are kept for error messages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kwire._util.child_process import ChildProcess
from tests.real_kafka.errors import StartFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

START_SECONDS = 60.0
STOP_SECONDS = 20.0
OUTPUT_SHOWN = 4000
"""Characters of the end of a server's log and output in an error."""

_FAST_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

_LOG4J_1 = """\
log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File=${kwire.log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
_LOG4J_2 = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:kwire.log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = file
"""


class JavaServer:
    """A main class with arguments, which can be started several times.

    Args:
        name: the name for error messages.
        folder: the folder for output, log, and logging configuration.
        jars: the folder with its jars.
        main: the main class and its arguments.
        heap: the heap size in megabytes.
    """

    def __init__(self, name: str, folder: Path, jars: Path, main: Sequence[str], *, heap: int) -> None:
        self.name = name
        self.folder = folder
        self._jars = jars
        self._main = main
        self._heap = heap
        self._process: ChildProcess | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def log(self) -> Path:
        """The log file."""
        return self.folder / "log"

    @property
    def output(self) -> Path:
        """The file with standard output and error."""
        return self.folder / "output"

    @property
    def process_id(self) -> int | None:
        """The process id; None if the server is not running."""
        return self._process.pid if self._process is not None and self.is_running else None

    @property
    def is_running(self) -> bool:
        """True while the process exists. SIGSTOP may have stopped it."""
        return self._process is not None and self._process.returncode is None

    def start(self) -> None:
        """Start the process without waiting until it is ready; see `wait_until`."""
        assert not self.is_running, f"{self.name} is already running"
        self.kill()  # releases a process that has exited
        self.log.unlink(missing_ok=True)
        self.output.unlink(missing_ok=True)
        self._process = ChildProcess(self.command(*self._main), self.output)

    def command(self, *main: str) -> list[str]:
        """Return the command line of a main class with this server's jars."""
        (self.folder / "log4j.properties").write_text(_LOG4J_1, encoding="ascii")
        (self.folder / "log4j2.properties").write_text(_LOG4J_2, encoding="ascii")
        return [
            "java",
            f"-Xmx{self._heap}m",
            *_FAST_START,
            f"-Dkwire.log={self.log}",
            f"-Dlog4j.configuration=file:{self.folder}/log4j.properties",
            f"-Dlog4j2.configurationFile=file:{self.folder}/log4j2.properties",
            "-cp",
            f"{self._jars}/*",
            *main,
        ]

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Wait until `ready` returns True.

        Raises:
            StartFailed: the process exited, or it was not ready within 60 seconds.
        """
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if not self.is_running or time.monotonic() > deadline:
                assert self._process is not None
                raise StartFailed(self.name, self._process.returncode, self.output_tail())
            time.sleep(0.05)

    def has_logged(self, text: str) -> bool:
        """Return whether the log of this start contains a text."""
        return self.log.exists() and text in self.log.read_text(encoding="utf-8", errors="replace")

    def output_tail(self) -> str:
        """Return the end of log and output."""
        texts = [
            path.read_text(encoding="utf-8", errors="replace")[-OUTPUT_SHOWN:]
            for path in (self.log, self.output)
            if path.exists()
        ]
        return "\n".join(texts) or "(empty)"

    def stop(self) -> None:
        """Send SIGTERM, and SIGKILL after 20 seconds. Does nothing if the server is not running."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(STOP_SECONDS)

    def kill(self) -> None:
        """Send SIGKILL. Does nothing if the server is not running."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def send_signal(self, signal_number: int) -> None:
        """Send a signal, such as `signal.SIGSTOP`."""
        assert self._process is not None
        self._process.send_signal(signal_number)
