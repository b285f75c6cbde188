"""The picture of the command `kafka` shows what it prints. Run `python -m scripts.pictures` if this fails."""

from __future__ import annotations

from scripts import pictures


def test_picture_of_the_command_is_current() -> None:
    with pictures.broken_cluster() as cluster:
        current = pictures.kafka_terminal(cluster)
    assert (pictures.PICTURES / "kafka.svg").read_text(encoding="utf-8") == current
