"""The shell on real Kafka, in a real terminal: lag while records are produced and read, and changes of topics."""

from __future__ import annotations

import json
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import confluent_kafka
import pytest
from kazoo.client import KazooClient

from kwire.testing import FakeCluster
from scripts.record_shell_session import RECORDING, recorded
from tests.cli.administration import Operator
from tests.cli.running import kwire
from tests.cli.shell.tmux import Terminal
from tests.eventually import eventually_sync
from tests.kafka.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

TOPIC = "shell-orders"
GROUP = "shell-billing"


@contextmanager
def topic(cluster: KafkaCluster) -> Iterator[Operator]:
    operator = Operator(cluster.bootstrap)
    operator.create_topic(TOPIC, 2)
    try:
        yield operator
    finally:
        operator.json("topics", "delete", TOPIC, "--yes")


def test_stats_draws_the_lag_of_a_slow_consumer_until_it_has_caught_up(kafka44: Kafka44, tmp_path: Path) -> None:
    with (
        topic(kafka44),
        Traffic(kafka44, TOPIC, GROUP) as traffic,
        Terminal(tmp_path, "shell", "-b", kafka44.bootstrap, columns=140) as terminal,
    ):
        terminal.wait_for_prompt()
        terminal.run(f"use topic {TOPIC};")
        traffic.produced, traffic.consumed = 20, 5
        terminal.run("stats --interval 0.3;")
        terminal.wait_for("every 0.3 s, Ctrl-C ends", "TREND", GROUP, TOPIC)
        traffic.consumed = 0  # the lag grows, no matter which of both is faster
        terminal.wait_for("grows")
        # At 20 records a second, the last of 10,000 is read long after the growth has left the samples.
        traffic.produced = 0
        traffic.produce(10_000)
        traffic.consumed = 2
        terminal.wait_for_match(rf"{GROUP}.*█.* \d+ (s|min|h)\n", within=300)
        traffic.consumed = 1000
        terminal.wait_for("now")
        terminal.press("C-c")
        screen = terminal.wait_for_prompt()
        assert GROUP in screen, "the last picture stays"


def test_stats_survives_a_broker_that_is_lost(kafka44: Kafka44, tmp_path: Path) -> None:
    with topic(kafka44) as operator, Terminal(tmp_path, "shell", "-b", kafka44.bootstrap) as terminal:
        committed(kafka44)
        [broker] = kafka44.brokers
        terminal.wait_for_prompt()
        terminal.run("stats --interval 0.3;")
        terminal.wait_for(GROUP, "now")
        broker.send_signal(signal.SIGSTOP)
        try:
            screen = terminal.wait_for("No answer since ", "trying again")
            assert GROUP in screen, "what was known stays"
        finally:
            broker.send_signal(signal.SIGCONT)
        eventually_sync(lambda: "No answer" not in terminal.screen(), within=90, pause=0.1)
        terminal.press("C-c")
        terminal.wait_for_prompt()
        assert operator.json("topics", "list", TOPIC)


def committed(cluster: KafkaCluster) -> None:
    """Commit an offset of an empty partition."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": GROUP})
    consumer.commit(offsets=[confluent_kafka.TopicPartition(TOPIC, 0, 0)], asynchronous=False)
    consumer.close()


@pytest.mark.parametrize("store", ["brokers", "zookeeper"])
async def test_stats_of_a_script_are_rows(kafka39: Kafka39, store: str) -> None:
    """Offsets in ZooKeeper have the log ends of the brokers."""
    with topic(kafka39) as operator:
        producer = confluent_kafka.Producer({"bootstrap.servers": kafka39.bootstrap})
        for _ in range(7):
            producer.produce(TOPIC, b"record", partition=1)
        assert producer.flush(60) == 0
        options = ""
        if store == "zookeeper":
            zookeeper = KazooClient(kafka39.zookeeper)
            zookeeper.start()
            zookeeper.create(f"/consumers/old/offsets/{TOPIC}/1", b"3", makepath=True)
            zookeeper.stop()
            zookeeper.close()
            options = f"--zookeeper {kafka39.zookeeper} --group old"
        else:
            committed(kafka39)
            options = f"--group {GROUP}"
        run = operator.run("-o", "json", "shell", stdin=f"stats {TOPIC} {options} --interval 0.1;")
        assert run.code == 0, run.err
        [row] = json.loads(run.out)
        expected = ("old", 1, 3, 7, 4) if store == "zookeeper" else (GROUP, 0, 0, 0, 0)
        assert tuple(row[key] for key in ("group", "partition", "committed", "end", "lag")) == expected
        assert (row["topic"], row["store"], row["change"]) == (TOPIC, store, 0.0)
        misspelled = operator.run("shell", stdin="stats shell-odrers;")
        assert misspelled.code == 1
        assert f"did you mean {TOPIC}" in misspelled.err


def test_names_are_fetched_again_after_a_change(kafka44: Kafka44, tmp_path: Path) -> None:
    with Terminal(tmp_path, "shell", "-b", kafka44.bootstrap) as terminal:
        terminal.wait_for(" topic")
        terminal.run(f"topics create {TOPIC} -p 1 -r 1;")
        terminal.wait_for("created")
        terminal.type("use topic shell-o")
        terminal.wait_for(f"  {TOPIC}")
        terminal.press("Tab", "Enter")
        terminal.run(";")
        terminal.wait_for(f"topic {TOPIC}")
        terminal.wait_for_prompt()
        terminal.run("set retention.ms = 77777777")
        terminal.wait_for_prompt()
        terminal.run(f"configs get topic/{TOPIC} retention.ms;")
        terminal.wait_for("77777777  ")
        terminal.wait_for_prompt()
        terminal.run(f"topics delete {TOPIC} --yes;")
        terminal.wait_for("deleted")


def test_the_recording_in_the_documentation_is_what_the_shell_does(kafka44: Kafka44, tmp_path: Path) -> None:
    """Its numbers differ from run to run; statements, questions, errors, and headings do not."""
    assert outline(recorded(kafka44, tmp_path)) == outline(RECORDING.read_text(encoding="utf-8"))


def outline(recording: str) -> list[str]:
    kept = ("kafka>", "    ->", "Error:", "  ^", "Reset", "Delete", "GROUP", "NAME")
    return [" ".join(line.split()) for line in recording.splitlines() if line.startswith(kept)]


def test_use_group_checks_that_the_group_exists(kafka44: Kafka44) -> None:
    with topic(kafka44) as operator:
        operator.json("groups", "reset-offsets", GROUP, "--topic", TOPIC, "--to", "earliest", "--yes")
        listed = kwire("shell", "-b", kafka44.bootstrap, stdin=f"use group {GROUP};use;")
        assert (listed.code, listed.out.splitlines()[-1]) == (0, f"group {GROUP}"), listed.err
        misspelled = kwire("shell", "-b", kafka44.bootstrap, "--keep-going", stdin=f"use group {GROUP}s;use;")
        assert misspelled.code == 1
        assert f"did you mean {GROUP}" in misspelled.err
        assert misspelled.out.splitlines()[-1] == "group -"
        operator.json("groups", "delete", GROUP, "--yes")


def test_use_group_accepts_any_group_where_brokers_have_none() -> None:
    with FakeCluster(1, topics=["orders"], dialect="kip4") as cluster:
        assert kwire("shell", "-b", cluster.bootstrap, stdin="use group billing;").code == 0
