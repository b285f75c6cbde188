"""Exit codes and first lines of scripts for empty and refused input, as runs of Kafka's tools of 3.9.1 have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from kwire_admin.compat import run_script
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["orders"], partitions=2) as fake:
        fake.set_ends("orders", {0: 10, 1: 10})
        fake.set_group("idle", {"orders": {0: 1}})
        yield fake


REFUSED = (
    "kafka-configs --alter --topic orders --add-config ''",
    "kafka-configs --describe --entity-type brokers --entity-name x",
    "kafka-configs --alter --broker x --add-config log.retention.ms=5",
    "kafka-configs --describe --entity-type ips --entity-name x.invalid",
    "kafka-configs --describe --entity-type broker-loggers",
    "kafka-configs --describe --topic orders --add-config a=b",
    "kafka-get-offsets --topic-partitions orders --topic orders",
    "kafka-get-offsets --topic orders --topic-partitions orders:0 --partitions 0",
    "kafka-get-offsets --topic ''",
    "kafka-reassign-partitions --list --reassignment-json-file {empty}",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders:x --to-earliest --dry-run",
)
"""Command lines that end with 1."""
PRINTED = (
    "kafka-get-offsets --partitions ''",
    "kafka-log-dirs --describe --broker-list ''",
    "kafka-leader-election --election-type preferred --path-to-json-file {empty}",
    "kafka-consumer-groups --describe --group idle --timeout x",
    "kafka-consumer-groups --reset-offsets --group idle --topic nosuch --to-earliest --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders:99 --to-earliest --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders --to-offset x --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --topic orders --to-datetime yesterday --dry-run",
    "kafka-consumer-groups --reset-offsets --group idle --from-file /nosuch --dry-run",
)
"""Command lines that end with 0, some of them after an error on stdout."""


def run_line(cluster: FakeCluster, folder: Path, line: str, release: str | None = None) -> int:
    """Run a command line with `--bootstrap-server`."""
    empty, blank = folder / "empty.json", folder / "blank.json"
    empty.write_text('{"version": 1, "partitions": []}', encoding="utf-8")
    blank.write_text("", encoding="utf-8")
    name, *words = (word.replace("''", "").format(empty=empty, blank=blank) for word in line.split(" "))
    return run_script(name, ["--bootstrap-server", cluster.bootstrap, *words], release)


@for_rows("line", REFUSED)
def test_refused_input_ends_with_1(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert run_line(cluster, tmp_path, line) == 1
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert (shown.err + shown.out).strip()


@for_rows("line", PRINTED)
def test_input_that_kafka_answers_with_0_ends_with_0(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert run_line(cluster, tmp_path, line) == 0
    if "consumer-groups" in line:
        assert "\nError: Executing consumer group command failed due to " in capsys.readouterr().out


SENTENCES = (
    ("3.9.1", 1, "kafka-topics --create --topic new --partitions 0", "The partitions must be greater than 0"),
    ("3.9.1", 1, "kafka-topics --create --topic new --partitions -1", "The partitions must be greater than 0"),
    ("3.9.1", 1, "kafka-topics --create --topic new --replication-factor 0", "must be between 1 and 32767 inclusive"),
    ("3.9.1", 1, "kafka-topics --create --topic new --replication-factor 99999", "between 1 and 32767 inclusive"),
    ("3.9.1", 1, "kafka-topics --create --topic new --config retention.ms=", 'must be in the format "key=val".'),
    (
        "3.9.1",
        1,
        "kafka-topics --alter --topic orders --partitions x",
        "Cannot parse argument 'x' of option partitions",
    ),
    ("3.9.1", 1, "kafka-topics --alter --topic orders --config a=b", "the kafka-configs CLI supports altering"),
    ("4.4.0", 1, "kafka-topics --alter --topic orders --config a=b", "the kafka-configs tool can be used."),
    ("3.9.1", 1, "kafka-topics --describe --topic nosuch", "Topic 'Optional[nosuch]' does not exist as expected"),
    ("4.4.0", 1, "kafka-topics --describe --topic nosuch", "Topic 'nosuch' does not exist as expected"),
    (
        "4.4.0",
        0,
        "kafka-configs --describe --topic nosuch",
        "The topic 'nosuch' doesn't exist and doesn't have dynamic",
    ),
    ("4.4.0", 0, "kafka-configs --describe --broker 99", "The broker '99' doesn't exist and doesn't have dynamic"),
    ("4.4.0", 1, "kafka-configs --describe --topic a/b", "Topic name is invalid: 'a/b' contains one or more"),
    (
        "3.9.1",
        1,
        "kafka-configs --alter --topic orders --add-config a=1=2",
        "requirement failed: Invalid entity config",
    ),
    ("4.4.0", 1, "kafka-configs --alter --topic orders --add-config a=1=2", '"key=[val1,val2]" to group values'),
    ("3.9.1", 1, "kafka-configs --alter --user a --add-config b=1", "Unexpected config names: b"),
    ("3.9.1", 1, "kafka-configs --alter --ip 127.0.0.1 --add-config producer_byte_rate=1", "Only connection quota"),
    ("3.9.1", 1, "kafka-configs --alter --user a --add-config producer_byte_rate=x", "for producer_byte_rate: x"),
    ("3.9.1", 1, "kafka-acls --add --allow-principal a --topic t", "expected a string in format principalType:"),
    (
        "4.4.0",
        1,
        "kafka-acls --remove --force --allow-principal User:a --operation Create --group g",
        "ResourceType GROUP only supports operations [ALL, ALTER_CONFIGS, DELETE, DESCRIBE, DESCRIBE_CONFIGS, READ]",
    ),
    (
        "4.4.0",
        1,
        "kafka-acls --remove --force --deny-principal User:a --operation Fly --cluster",
        "ResourceType CLUSTER only supports operations [ALL, ALTER, ALTER_CONFIGS, CLUSTER_ACTION, CREATE, DESCRIBE, ",
    ),
    ("4.4.0", 1, "kafka-acls --remove --force --operation Fly --topic t", "ResourceType or operation Fly is unknown"),
    ("3.9.1", 1, "kafka-acls --list --principal a", "expected a string in format principalType:principalName but got"),
    (
        "3.9.1",
        1,
        "kafka-acls --add --allow-principal User:a --producer --group g",
        "With --producer you must specify a",
    ),
    (
        "3.9.1",
        1,
        "kafka-acls --add --allow-principal User:a --consumer --topic t",
        "With --consumer you must specify a",
    ),
    ("3.9.1", 1, "kafka-acls --add --allow-principal User:a --topic t --idempotent", "available if --producer is set"),
    (
        "3.9.1",
        1,
        "kafka-acls --add --allow-principal User:a --topic t --resource-pattern-type any",
        "value of 'ANY' is",
    ),
    ("3.9.1", 1, "kafka-reassign-partitions --list --timeout 0", 'can\'t be used with action "[list]"'),
    ("3.9.1", 1, "kafka-reassign-partitions --execute --reassignment-json-file {blank}", "shouldn't be empty"),
    ("3.9.1", 1, "kafka-leader-election --election-type preferred --path-to-json-file {blank}", "data is empty"),
    ("3.9.1", 1, "kafka-log-dirs --describe --broker-list x", 'For input string: "x"'),
    ("3.9.1", 1, "kafka-consumer-groups --list --timeout 0", "no response to"),
    ("3.9.1", 0, "kafka-consumer-groups --list --command-config /nosuch", "No such file or directory"),
    (
        "3.9.1",
        1,
        "kafka-consumer-groups --reset-offsets --group idle --topic orders --dry-run",
        "following scenarios: [[",
    ),
    (
        "3.9.1",
        1,
        "kafka-consumer-groups --reset-offsets --group idle --to-latest --dry-run",
        "scopes should be defined",
    ),
)
"""Releases, exit codes, command lines, and a part of what Kafka's tool of the release prints."""


@for_rows("release, code, line, text", SENTENCES)
def test_sentence_follows_the_release(
    cluster: FakeCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    release: str,
    code: int,
    line: str,
    text: str,
) -> None:
    assert run_line(cluster, tmp_path, line, release) == code
    shown = capsys.readouterr()
    assert text in shown.out + shown.err


def test_reset_offsets_are_in_the_columns_of_the_release(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "kafka-consumer-groups --reset-offsets --group idle --topic orders:1 --to-latest --dry-run"
    expected = {
        "3.9.1": f"\n{'GROUP':<30} {'TOPIC':<30} {'PARTITION':<10} {'NEW-OFFSET':<15}\n"
        f"{'idle':<30} {'orders':<30} {'1':<10} {'10':<15}\n",
        "4.4.0": f"\n{'GROUP':<15} {'TOPIC':<15} {'PARTITION':<10} NEW-OFFSET\n"
        f"{'idle':<15} {'orders':<15} {'1':<10} 10\n",
    }
    for release, table in expected.items():
        assert run_line(cluster, tmp_path, line, release) == 0
        assert capsys.readouterr().out == table


def test_cluster_that_cannot_be_reached_ends_with_1() -> None:
    assert run_script("kafka-consumer-groups", ["--bootstrap-server", "127.0.0.1:1", "--list"]) == 1


JSON_FILES = (
    "kafka-reassign-partitions --generate --broker-list 1 --topics-to-move-json-file",
    "kafka-reassign-partitions --verify --reassignment-json-file",
    "kafka-delete-records --offset-json-file",
    "kafka-leader-election --election-type preferred --path-to-json-file",
)


@for_rows("line", JSON_FILES)
def test_encoding_of_a_refused_json_file_is_named(
    line: str, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Editors and shells of Windows save UTF-16. Without a byte order mark, it looks like other texts."""
    file = tmp_path / "windows.json"
    file.write_bytes('{"version": 1, "partitions": []}'.encode("utf-16-le"))
    assert run_line(cluster, tmp_path, f"{line} {file}") == 1
    shown = "".join(capsys.readouterr())
    assert "expected a text in UTF-8, found NUL characters" in shown
