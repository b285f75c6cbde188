"""Record a session of the shell for the documentation: docs/how-to/shell-session.txt.

    python -m scripts.record_shell_session

The statements run in a terminal (tmux) on Kafka 4.4 with a producer and a slow consumer. Nothing is edited but the
address of the broker. `test_shell.py` of `tests/kafka` records the session again and compares it, without its numbers.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.shell.tmux import Terminal
from tests.eventually import eventually_sync
from tests.kafka.traffic import Traffic
from tests.real_kafka import Kafka44

RECORDING = Path(__file__).parents[1] / "docs" / "how-to" / "shell-session.txt"
GROUP = "billing"


def main() -> None:
    """Write the recording."""
    with Kafka44() as cluster, TemporaryDirectory() as home:
        RECORDING.write_text(recorded(cluster, Path(home)), encoding="utf-8")


def recorded(cluster: Kafka44, home: Path) -> str:
    """Return the recording of a new session."""
    with Terminal(home, "shell", "-b", cluster.bootstrap, columns=110, rows=40, PAGER="") as terminal:
        type_session(cluster, terminal)
        terminal.wait_for("exit code 0")
        text = terminal.history().partition("exit code 0")[0]
    return f"$ kafka shell -b localhost:9092\n{anonymous(text, cluster.bootstrap)}"


def type_session(cluster: Kafka44, terminal: Terminal) -> None:
    """Type the session."""
    terminal.wait_for(" topic")
    for statement in (
        "topics create orders --partitions 2 --replication-factor 1;",
        "topics descrbe orders;",
        "topics describe odrers;",
        "use topic orders;",
        "describe;",
        "set retention.ms = 86400000",
    ):
        terminal.run(statement)
        terminal.wait_for_prompt()
    with Traffic(cluster, "orders", GROUP) as traffic:
        traffic.produced, traffic.consumed = 40, 10
        terminal.run("stats;")
        watch_lag(terminal, r"grows", bars=10)
        traffic.produced, traffic.consumed = 0, 8
        terminal.run("stats --group billing --interval 0.5;")
        watch_lag(terminal, r"\d+ (s|min)", bars=12)
    terminal.run("configs get topic/orders retention.ms")
    terminal.run("  --output json;")
    terminal.wait_for_prompt()
    terminal.run(f"groups reset-offsets {GROUP} --to earliest;")
    terminal.wait_for("[y/N]")
    terminal.run("y")
    terminal.wait_for_prompt()
    terminal.run("watch 1 groups lag billing --partitions;")
    terminal.wait_for("every 1 s", "COMMITTED")
    leave_picture(terminal)
    terminal.run("topics delete orders;")
    terminal.wait_for("Delete orders and all records? [y/N]")
    terminal.run("y")
    terminal.wait_for_prompt()
    terminal.run("exit;")


def watch_lag(terminal: Terminal, caught_up: str, *, bars: int) -> None:
    """Wait until the picture shows a trend of some length, and end it."""
    trend = rf"{GROUP} .*[▁▂▃▄▅▆▇█]{{{bars},}}.* {caught_up}\n"
    eventually_sync(lambda: re.search(trend, terminal.screen()), "a trend is shown", within=60)
    leave_picture(terminal)


def leave_picture(terminal: Terminal) -> None:
    """End a picture with Ctrl-C."""
    terminal.press("C-c")
    terminal.wait_for_prompt()


def anonymous(text: str, bootstrap: str) -> str:
    """Return a text with the usual address in place of the address of the broker.

    tmux keeps a copy of a screen that is cleared, which ends with many empty lines.
    """
    lines = "\n".join(line.rstrip() for line in text.replace(bootstrap, "localhost:9092").splitlines()).strip("\n")
    last = re.split(r"\n{6,}", lines)[-1]
    return last[last.index("kafka>") :] + "\n"


if __name__ == "__main__":
    main()
