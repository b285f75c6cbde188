"""Hints for the words and options of Kafka's scripts."""

from __future__ import annotations

import json

import pytest

from kwire.cli.program import command_names, invoke
from kwire.testing import FakeCluster
from kwire_admin.cli.kafka_habits import FIRST_WORDS
from kwire_admin.cli.program import program
from kwire_admin.compat.__main__ import main
from kwire_admin.operations import registry
from tests.cli.running import kwire
from tests.for_rows import for_rows


def test_no_hint_hides_a_command() -> None:
    assert FIRST_WORDS.keys().isdisjoint({*command_names(), *registry.nouns()})


@for_rows(
    "words, hint",
    [
        (("produce",), "kwire has no producer and no consumer: use kcat, or kafka-console-producer.sh"),
        (("kafka-console-consumer.sh",), "kafka-console-consumer.sh"),
        (("lag",), "write `kafka groups lag`"),
        (("describe", "topics"), "write the noun first: topics describe"),
        (("version",), "write `kafka --version`"),
        (("doctor",), "write `kafka cluster health`"),
        (("groups", "reset-offsets", "g", "--to-earliest"), "no such option --to-earliest: write --to earliest"),
        (("topics", "--bootstrap-server", "x", "--list"), "write -b HOST:PORT behind the verb"),
    ],
)
def test_habit_gets_a_hint(words: tuple[str, ...], hint: str) -> None:
    done = kwire(*words)
    assert done.code == 2
    assert hint in done.err


def test_commands_of_a_missing_product_are_not_taken_for_misspellings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "it is a command of kwire-cluster: pip install 'kwire[node]'"
    monkeypatch.setattr("kwire.cli.program.missing_hint", lambda _: line)
    monkeypatch.setattr("kwire_admin.cli.verb_command.missing_hint", lambda _: line)
    for words, hint in ((["encod"], line), (["cluster", "upp"], f"; if {line}")):
        assert invoke(program, words) == 2
        assert hint in capsys.readouterr().err.replace("\n", "")


def test_script_of_a_missing_product_names_its_install_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kwire._util.products.find_part", lambda _: None)
    assert main(["kafka-dump-log", "--files", "x"]) == 1
    printed = capsys.readouterr().err
    assert printed == "kafka-dump-log needs kwire-zookeeper-tools: pip install 'kwire[zookeeper]'\n"


def test_statements_of_the_shell_are_commands() -> None:
    with FakeCluster(1, topics=["orders"], partitions=1) as cluster:
        cluster.set_ends("orders", {0: 10})
        cluster.set_group("billing", {"orders": {0: 1}})
        script = kwire("shell", "-b", cluster.bootstrap, stdin="describe orders;")
        for words in (("-b", cluster.bootstrap, "describe", "orders"), ("describe", "orders", "-b", cluster.bootstrap)):
            assert kwire(*words) == script
        lag = kwire("stats", "-b", cluster.bootstrap, "--group", "billing", "--count", "1", "-o", "json")
        assert [row["lag"] for row in json.loads(lag.out)] == [9]
        refused = kwire("set", "nosuch", "=", "7", "-b", cluster.bootstrap)
        assert (refused.code, "brokers report no config 'nosuch'" in refused.err) == (2, True)
        assert "expected = after 'nosuch'" in kwire("set", "nosuch", "-b", cluster.bootstrap).err


def test_shell_starts_with_what_it_is_to_use() -> None:
    with FakeCluster(1, topics=["orders", "other"], partitions=1) as cluster:
        used = kwire("use", "topic", "orders", "-b", cluster.bootstrap, "-o", "csv", stdin="describe;")
        described = kwire("describe", "orders", "-b", cluster.bootstrap, "-o", "csv")
        missing = kwire("-b", cluster.bootstrap, "use", "topic", "ordrs", stdin="describe;")
        unknown = kwire("-b", cluster.bootstrap, "use", "cluster", "prod", stdin="describe;")
    assert used == described
    assert (missing.code, missing.out, "did you mean orders" in missing.err) == (1, "", True)
    assert (unknown.code, unknown.out) == (2, "")
