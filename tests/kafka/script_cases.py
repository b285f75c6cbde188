"""Runs of Kafka's scripts, in this order on a new cluster, and how their outputs are compared."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

CASES = """
kafka-topics --create --topic orders --partitions 2 --replication-factor 1 --config retention.ms=1000
kafka-topics --create --topic orders --partitions 2
kafka-topics --create --topic orders --if-not-exists
kafka-topics --create --topic a.b_c --partitions 1
kafka-topics --list
kafka-topics --describe
kafka-topics --describe --topic nosuch
kafka-topics --describe --topic orders --under-replicated-partitions
kafka-topics --describe --topics-with-overrides
kafka-topics --alter --topic orders --partitions 3
kafka-topics --alter --topic orders --partitions 3
kafka-topics --alter --topic nosuch --partitions 3
kafka-topics --delete --topic nosuch
kafka-topics --delete --topic a.b_c
kafka-topics
kafka-topics --list --create
kafka-topics --bogus
kafka-topics --create
kafka-topics --list --partitions 2
kafka-configs --describe --topic orders
kafka-configs --alter --topic orders --add-config retention.ms=7,cleanup.policy=[compact,delete]
kafka-configs --describe --entity-type topics --entity-name orders
kafka-configs --describe --entity-type topics
kafka-configs --alter --topic orders --delete-config cleanup.policy
kafka-configs --alter --topic orders --delete-config nosuch.config
kafka-configs --alter --entity-type brokers --entity-default --add-config log.cleaner.backoff.ms=1000
kafka-configs --describe --entity-type brokers --entity-default
kafka-configs --describe --entity-type brokers --entity-name 1
kafka-configs --alter --user alice --add-config producer_byte_rate=1024
kafka-configs --describe --user alice
kafka-configs --describe --users
kafka-configs --describe
kafka-configs --alter --topic orders
kafka-configs --describe --topic orders --all
kafka-get-offsets
kafka-get-offsets --topic orders
kafka-get-offsets --topic nosuch
kafka-get-offsets --topic-partitions orders:0,orders:2- --time -2
kafka-get-offsets --time x
kafka-consumer-groups --list
kafka-consumer-groups --reset-offsets --group g --topic orders --to-earliest --execute
kafka-consumer-groups --list
kafka-consumer-groups --list --state
kafka-consumer-groups --describe --group g
kafka-consumer-groups --describe --group g --state
kafka-consumer-groups --describe --group g --members
kafka-consumer-groups --describe --group nosuch
kafka-consumer-groups --describe --all-groups
kafka-consumer-groups --reset-offsets --group g --topic orders --to-latest
kafka-consumer-groups --delete-offsets --group g --topic orders:0
kafka-consumer-groups --delete --group g
kafka-consumer-groups --delete --group nosuch
kafka-consumer-groups
kafka-reassign-partitions --topics-to-move-json-file {files}/move.json --broker-list 1 --generate
kafka-reassign-partitions --reassignment-json-file {files}/plan.json --execute
kafka-reassign-partitions --reassignment-json-file {files}/plan.json --verify
kafka-reassign-partitions --reassignment-json-file {files}/plan.json --cancel
kafka-reassign-partitions --list
kafka-reassign-partitions --reassignment-json-file {files}/badplan.json --execute
kafka-reassign-partitions
kafka-reassign-partitions --execute
kafka-reassign-partitions --reassignment-json-file /nosuch --execute
kafka-leader-election --election-type preferred --all-topic-partitions
kafka-leader-election --election-type preferred --topic orders --partition 0
kafka-leader-election --election-type preferred --path-to-json-file {files}/el.json
kafka-leader-election --election-type preferred --topic nosuch --partition 0
kafka-leader-election --election-type preferred
kafka-leader-election
kafka-features describe
kafka-features upgrade --feature nosuch=1
kafka-log-dirs --describe
kafka-log-dirs --describe --topic-list orders --broker-list 1
kafka-log-dirs --describe --broker-list 9
kafka-log-dirs
kafka-metadata-quorum describe --status
kafka-metadata-quorum describe --replication
kafka-acls --list
kafka-acls
""".strip().splitlines()
"""Command lines without `--bootstrap-server`."""

FILES = {
    "plan.json": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]},
    "badplan.json": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}] * 2},
    "move.json": {"version": 1, "topics": [{"topic": "orders"}]},
    "el.json": {"partitions": [{"topic": "orders", "partition": 0}]},
}

VARYING = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"(?<=TopicId: )\S+", "ID"),
    (r"(?<=Epoch: )\d+", "EPOCH"),
    (r"(?<=HighWatermark:) +\d+", " OFFSET"),
    (r"(?<=AAAAAAAAAAAAAAAAAAAAAA\t)\d+ +", "OFFSET "),
    (r"\d{13}", "MILLISECONDS"),
    (r'(?<="logDir":")[^"]+', "FOLDER"),
    (r'(?<="size":)\d+', "0"),
    # Clusters with ZooKeeper and with KRaft have different texts.
    (r"partition\(s\)", "partitions"),
    # Traces of Java, and of Scala, follow the sentence.
    (r"(?m)^(java|org)\.\S+Exception.*\n", ""),
    (r"(?m)^(\tat |Caused by: |\tSuppressed: |\t\.\.\.).*\n", ""),
    (r"org\.apache\.kafka\.common\.errors\.SecurityDisabledException: ", ""),
)
"""What differs between runs, as regular expressions with replacements."""


JAVA_LOG = ("SLF4J", "log4j:", "[2", " (", "\tat ")
"""Beginnings of lines of stderr that belong to the log of Java."""


class Outcome(NamedTuple):
    """What a run of a script printed.

    Attributes:
        code: its exit code.
        out: its stdout, without what varies.
        sentence: the first line of stderr that is not the log of Java; empty without one.
    """

    code: int
    out: str
    sentence: str

    @classmethod
    def of(cls, code: int, out: str, err: str) -> Outcome:
        """Return an outcome without what varies."""
        lines = [line for line in err.splitlines() if line.strip() and not line.startswith(JAVA_LOG)]
        return cls(code, _normal(out), _normal(lines[0]) if lines else "")


def _normal(text: str) -> str:
    for pattern, replacement in VARYING:
        text = re.sub(pattern, replacement, text)
    lines = [_normal_json(line) for line in text.splitlines()]
    return "\n".join(lines)


def _normal_json(line: str) -> str:
    """Return a line; partitions in JSON have no order."""
    if not line.startswith('{"brokers"'):
        return line
    document = json.loads(line)
    for broker in document["brokers"]:
        for log_dir in broker["logDirs"]:
            log_dir["partitions"].sort(key=lambda each: each["partition"])
    return json.dumps(document)


def words(case: str, bootstrap: str, files: Path) -> list[str]:
    """Return the name of the script and its arguments."""
    name, *arguments = case.format(files=files).split()
    return [name, "--bootstrap-server", bootstrap, *arguments]


def write_files(folder: Path) -> None:
    """Write the files that cases name."""
    for name, content in FILES.items():
        (folder / name).write_text(json.dumps(content))
