"""Child processes that end with their parent, even if the parent is killed.

A child has its own session, so Ctrl-C reaches only the parent. Next to it runs a guard, a shell that reads from a pipe
of the parent: when the parent ends, the pipe closes and the guard kills the child and the processes that it started,
even if they are stopped. In an orderly shutdown the guard is killed before the child is reaped, because the process id
might be reused afterwards. Requires `/bin/sh`, so this does not work on Windows.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChildProcess", "is_running"]


class ChildProcess:
    """A running program.

    Args:
        arguments: the command line.
        output: the file to which its output is appended, or a descriptor that receives its output.
        environment: its environment; by default, the environment of this process.
        descriptors: descriptors of open files that it inherits.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        output: Path | int,
        environment: Mapping[str, str] | None = None,
        *,
        descriptors: Sequence[int] = (),
    ) -> None:
        with ExitStack() as stack:
            stream = output if isinstance(output, int) else stack.enter_context(output.open("ab"))
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                env=environment,
                pass_fds=descriptors,
            )
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", f"read -r _; kill -9 -{self._process.pid}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while the process runs."""
        return self._process.poll()

    def stop(self, timeout: float = 10.0) -> int:
        """Send SIGTERM, and SIGKILL after `timeout` seconds. Return the exit status."""
        if self.returncode is None:
            self._process.terminate()
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
        return self._reap()

    def kill(self) -> int:
        """Send SIGKILL to the process and its children, and return the exit status."""
        if self._process.returncode is None:  # not reaped, so no other process has this id
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return self._reap()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process and return the exit status.

        Raises:
            subprocess.TimeoutExpired: the process is still running after `timeout` seconds.
        """
        self._process.wait(timeout)
        return self._reap()

    def send_signal(self, signal_number: int) -> None:
        """Send a signal to the process."""
        self._process.send_signal(signal_number)

    def pause(self) -> None:
        """Stop the process with SIGSTOP."""
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continue the process with SIGCONT."""
        self.send_signal(signal.SIGCONT)

    def _reap(self) -> int:
        if self._guard.returncode is None:
            self._guard.kill()
            self._guard.communicate()
        return self._process.wait()


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie. Zombies are only recognized on Linux."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it belongs to another user
    with suppress(OSError):  # no /proc on this system
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return True
