"""The cost of the shell: time to the first prompt, memory, and what a key press costs while names are fetched.

    python -m benches.shell [--quick]

The shell runs on a pseudo-terminal, as for a person. A prompt has appeared when the terminal has received it; the same
program that only starts Python takes turns with it, so that both are measured under the same load.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benches.figure import Figure
from benches.program import print_figures
from kwire.testing import FakeCluster

LIMIT = 60.0
"""Seconds after which a shell that does not respond is an error."""


class ShellOnTerminal:
    """`kafka shell` on a pseudo-terminal.

    Args:
        bootstrap: the addresses of the cluster.
        home: the home of the user.
    """

    def __init__(self, bootstrap: str, home: str) -> None:
        self._controller, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, (30, 100))
        environment = {**os.environ, "HOME": home, "TERM": "xterm"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kwire", "shell", "-b", bootstrap],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=environment,
            start_new_session=True,
        )
        os.close(terminal)
        self._shown = ""

    def wait_for(self, text: str) -> float:
        """Return the seconds since the start when the terminal has received a text."""
        while text not in self._shown:
            self._read(text)
        return time.perf_counter() - self.started

    def press(self, key: str) -> float:
        """Press a key, and return the milliseconds until the terminal receives something."""
        self._shown = ""
        began = time.perf_counter()
        os.write(self._controller, key.encode())
        self._read(key)
        return (time.perf_counter() - began) * 1000

    def _read(self, wanted: str) -> None:
        """Read what the shell writes next, and answer as a terminal if it asks where the cursor is."""
        if not select.select([self._controller], [], [], LIMIT)[0]:
            raise TimeoutError(f"the shell does not show {wanted!r}: {self._shown[-500:]!r}")
        written = os.read(self._controller, 1 << 16).decode(errors="replace")
        if "\x1b[6n" in written:
            os.write(self._controller, b"\x1b[1;1R")
        self._shown += written

    def processor_time(self) -> float:
        """Return the seconds that the shell has used a processor so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the largest resident memory so far, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        """End the shell."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._controller)


def run(quick: bool) -> list[Figure]:
    """Measure the figures."""
    return [*first_prompt(3 if quick else 10), *fifty_thousand_topics()]


def first_prompt(rounds: int) -> list[Figure]:
    """Return the time to the first prompt on 5,000 topics, relative to bare Python."""
    topics = [f"topic-{index:05}" for index in range(5_000)]
    bare: list[float] = []
    taken: list[float] = []
    used: list[float] = []
    with TemporaryDirectory() as home, FakeCluster(3, topics=topics) as cluster:
        for number in range(rounds + 1):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            bare.append(time.perf_counter() - began)
            shell = ShellOnTerminal(cluster.bootstrap, home)
            prompt, processor_time = shell.wait_for("kafka>"), shell.processor_time()
            shell.wait_for("5,000 topics")
            shell.close()
            if number:  # the first one writes bytecode
                taken.append(prompt)
                used.append(processor_time)
    return [
        Figure(
            "first prompt of the shell, 5,000 topics",
            median(taken),
            " s",
            0.5,
            0.2,
            higher_is_better=False,
            detail=f"{median(taken) / median(bare):.1f} times the start of bare Python ({median(bare) * 1000:.0f} ms)",
        ),
        Figure(
            "CPU time before the first prompt",
            median(used),
            " s",
            0.5,
            0.2,
            higher_is_better=False,
            detail="what the first prompt takes on a machine without other work",
        ),
    ]


def fifty_thousand_topics() -> list[Figure]:
    """Return memory and key presses on 50,000 topics."""
    topics = [f"team-{index % 50:02}.topic-{index:05}" for index in range(50_000)]
    text = "topics describe team-07.topic-00"
    with TemporaryDirectory() as home, FakeCluster(3, topics=topics) as cluster:
        shell = ShellOnTerminal(cluster.bootstrap, home)
        shell.wait_for("kafka>")
        while_fetching = [shell.press(key) for key in text]
        shell.wait_for("50,000 topics")
        for _ in text:
            shell.press("\x7f")
        with_names = [shell.press(key) for key in text]
        memory = shell.memory()
        shell.close()
    return [
        Figure("memory of the shell on 50,000 topics", memory, " MB", 150, 80, higher_is_better=False),
        Figure(
            "key press among 50,000 topics",
            median(with_names),
            " ms",
            100,
            30,
            higher_is_better=False,
            detail=f"the slowest {max(with_names):.0f} ms; while names are fetched {median(while_fetching):.0f} ms, "
            f"the slowest {max(while_fetching):.0f} ms",
        ),
    ]


if __name__ == "__main__":
    print_figures(run, "shell", "Measure the shell.", "few rounds, for a first impression")
