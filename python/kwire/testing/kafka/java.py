"""One server on a Java machine.

Rules of this file: a server ends when we do, however that happens (``ChildProcess``). What it writes goes to a file
that is shown when it does not start.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kwire.child_process import ChildProcess
from kwire.testing.kafka.errors import StartFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

START_SECONDS = 60.0
STOP_SECONDS = 20.0
OUTPUT_SHOWN = 4000
"""Characters of what a server wrote last."""

_QUICK_TO_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

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
    """A main class with its arguments, which can be started more than once.

    ``name``: for messages; ``folder``: for its output and log; ``heap``: megabytes.
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
        """What it logs."""
        return self.folder / "log"

    @property
    def output(self) -> Path:
        """What it prints."""
        return self.folder / "output"

    @property
    def process_id(self) -> int | None:
        """None while it does not run."""
        return self._process.pid if self._process is not None and self.is_running else None

    @property
    def is_running(self) -> bool:
        """Whether the process is there, also when it is stopped by a signal."""
        return self._process is not None and self._process.returncode is None

    def start(self) -> None:
        """Begin to start; ``wait_until`` says when it has."""
        assert not self.is_running, f"{self.name} runs already"
        self.kill()  # lets go of one that has ended by itself
        self.log.unlink(missing_ok=True)
        self.output.unlink(missing_ok=True)
        self._process = ChildProcess(self.command(*self._main), self.output)

    def command(self, *main: str) -> list[str]:
        """The command line of a main class beside this server's jars."""
        (self.folder / "log4j.properties").write_text(_LOG4J_1, encoding="ascii")
        (self.folder / "log4j2.properties").write_text(_LOG4J_2, encoding="ascii")
        return [
            "java",
            f"-Xmx{self._heap}m",
            *_QUICK_TO_START,
            f"-Dkwire.log={self.log}",
            f"-Dlog4j.configuration=file:{self.folder}/log4j.properties",
            f"-Dlog4j2.configurationFile=file:{self.folder}/log4j2.properties",
            "-cp",
            f"{self._jars}/*",
            *main,
        ]

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Raises StartFailed when the process ends before, or it takes too long."""
        end = time.monotonic() + START_SECONDS
        while not ready():
            if not self.is_running or time.monotonic() > end:
                assert self._process is not None
                raise StartFailed(self.name, self._process.returncode, self.output_tail())
            time.sleep(0.05)

    def has_logged(self, text: str) -> bool:
        """Whether that stands in the log of this start."""
        return self.log.exists() and text in self.log.read_text(encoding="utf-8", errors="replace")

    def output_tail(self) -> str:
        """The end of output and log."""
        texts = [
            path.read_text(encoding="utf-8", errors="replace")[-OUTPUT_SHOWN:]
            for path in (self.log, self.output)
            if path.exists()
        ]
        return "\n".join(texts) or "nothing"

    def stop(self) -> None:
        """End it in an orderly way; by force after ``STOP_SECONDS``. Nothing happens when it does not run."""
        process, self._process = self._process, None
        if process is not None:
            process.stop(STOP_SECONDS)

    def kill(self) -> None:
        """End it at once, as a crash would. Nothing happens when it does not run."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def send_signal(self, signal_number: int) -> None:
        """Send it a signal, such as ``signal.SIGSTOP``."""
        assert self._process is not None
        self._process.send_signal(signal_number)
