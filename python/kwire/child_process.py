"""``ChildProcess``: a program that we started, and that ends when we do, however that happens.

Rules of this file: a process is told by its id, and signalled only while it is ours. It has a session of its own, so
that Ctrl-C on a terminal reaches us and not it. Beside it runs a guard, a shell whose input is a pipe that nobody
writes to: when we end the pipe does, and then the guard kills the process, stopped or not. The guard goes first in an
orderly end, since by the time it acted the id might belong to somebody else.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChildProcess", "is_running"]


class ChildProcess:
    """A running program. ``log``: the file that takes all that it prints, at its end. ``descriptors``: of open files
    that it shares with us.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        descriptors: Sequence[int] = (),
    ) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - a program of ours, with our own arguments
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=environment,
                pass_fds=descriptors,
            )
        self._guard = subprocess.Popen(  # noqa: S603 - as above
            ["/bin/sh", "-c", f"read -r _; kill -9 {self._process.pid}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended: as of a shell, negative for a signal; None while it runs."""
        return self._process.poll()

    def stop(self, timeout: float = 10.0) -> int:
        """End it as its operator would, by force after so many seconds; how it ended."""
        if self.returncode is None:
            self._process.terminate()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
        return self._reap()

    def kill(self) -> int:
        """End it with SIGKILL, as a crash would; how it ended."""
        if self.returncode is None:
            self._process.kill()
        return self._reap()

    def wait(self, timeout: float | None = None) -> int:
        """Until it ends by itself; how it ended. Raises subprocess.TimeoutExpired."""
        self._process.wait(timeout)
        return self._reap()

    def send_signal(self, signal_number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(signal_number)

    def pause(self) -> None:
        """SIGSTOP: it is there, and does nothing."""
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.send_signal(signal.SIGCONT)

    def _reap(self) -> int:
        if self._guard.returncode is None:
            self._guard.kill()
            self._guard.communicate()
        return self._process.wait()


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that is dead and not yet waited for does not run."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is there, and somebody else's
    with suppress(OSError):  # a system without such files does not tell the dead apart
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return True
