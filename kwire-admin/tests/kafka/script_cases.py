"""Runs of Kafka's scripts, in this order on a new cluster, and how their outputs are compared."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin import BlockingAdminClient, TopicDescription
from kwire.uuids import uuid_to_text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real_kafka import KafkaCluster

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
kafka-topics --describe --topic-id {topic_id}
kafka-topics --describe --topic-id {topic_id} --topic nosuch
kafka-topics --describe --topic-id AAAAAAAAAAAAAAAAAAAACQ
kafka-topics --describe --topic-id AAAAAAAAAAAAAAAAAAAACQ --if-exists
kafka-topics --describe --topic-id rubbish
kafka-topics --list --topic-id {topic_id}
kafka-topics --delete --topic-id {topic_id}
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
kafka-consumer-groups --reset-offsets --group g --topic orders --to-current --dry-run --export
kafka-consumer-groups --reset-offsets --group g --topic orders --shift-by 1 --dry-run
kafka-consumer-groups --reset-offsets --group new --topic orders --shift-by 1 --dry-run
kafka-consumer-groups --list --type
kafka-consumer-groups --list --type classic --state
kafka-consumer-groups --list --type nosuch
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
kafka-reassign-partitions --reassignment-json-file {files}/dirs.json --execute
kafka-reassign-partitions --reassignment-json-file {files}/dirs.json --execute --replica-alter-log-dirs-throttle 5000
kafka-reassign-partitions --reassignment-json-file {files}/dirs.json --execute --throttle 6000 --timeout 500
kafka-reassign-partitions --reassignment-json-file {files}/dirs.json --verify
kafka-reassign-partitions --reassignment-json-file {files}/dirs.json --cancel
kafka-reassign-partitions --reassignment-json-file {files}/nodir.json --execute
kafka-reassign-partitions --reassignment-json-file {files}/nodir.json --verify
kafka-reassign-partitions --reassignment-json-file {files}/shortdirs.json --execute
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
kafka-features upgrade
kafka-features upgrade --feature nosuch
kafka-features upgrade --metadata 2.8
kafka-features downgrade --feature nosuch=1 --dry-run
kafka-features disable --feature nosuch
kafka-features disable
kafka-log-dirs --describe
kafka-log-dirs --describe --topic-list orders --broker-list 1
kafka-log-dirs --describe --broker-list 9
kafka-log-dirs
kafka-metadata-quorum describe --status
kafka-metadata-quorum describe --replication
kafka-metadata-quorum describe
kafka-metadata-quorum describe --status --replication
kafka-metadata-quorum describe --status --human-readable
kafka-metadata-quorum add-controller
kafka-metadata-quorum --command-config {files}/controller.properties add-controller --dry-run
kafka-metadata-quorum --command-config {files}/controller.properties add-controller
kafka-metadata-quorum --command-config {files}/broker.properties add-controller
kafka-metadata-quorum --command-config {files}/nofolder.properties add-controller
kafka-metadata-quorum remove-controller --controller-id 9 --controller-directory-id AAAAAAAAAAAAAAAAAAAACQ --dry-run
kafka-metadata-quorum remove-controller -i 9 -d AAAAAAAAAAAAAAAAAAAACQ
kafka-metadata-quorum remove-controller -i 9 -d rubbish
kafka-acls --list
kafka-acls
kafka-acls --remove --topic orders --principal User:alice --force
""".strip().splitlines()
"""Command lines without `--bootstrap-server`."""

CONTROLLER = """\
node.id=9
process.roles=controller
listeners=CONTROLLER://localhost:9999
controller.listener.names=CONTROLLER
"""
FILES = {
    "plan.json": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]},
    "badplan.json": {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}] * 2},
    "move.json": {"version": 1, "topics": [{"topic": "orders"}]},
    "el.json": {"partitions": [{"topic": "orders", "partition": 0}]},
    "dirs.json": {"partitions": [{"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["{log_dir}"]}]},
    "nodir.json": {"partitions": [{"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["/nosuch"]}]},
    "shortdirs.json": {"partitions": [{"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": []}]},
    "controller.properties": f"{CONTROLLER}log.dirs={{files}}\n",
    "broker.properties": CONTROLLER.replace("process.roles=controller", "process.roles=broker"),
    "nofolder.properties": CONTROLLER,
    "meta.properties": "version=1\ncluster.id=x\nnode.id=9\ndirectory.id=AAAAAAAAAAAAAAAAAAAACQ\n",
}

RECORDED_CLUSTER_ID = "a3dpcmUtdGVzdGluZy00NA"
"""The id of the cluster of 4.4.0 on which the runs were recorded: some lines show it."""
VARYING = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"(?<=TopicId: )\S+", "ID"),
    (r"(?<=Epoch: )\d+", "EPOCH"),
    (r"(?<=HighWatermark:) +\d+", " OFFSET"),
    (r"(?<=AAAAAAAAAAAAAAAAAAAAAA\t)\d+ +", "OFFSET "),
    (r"\d{13}", "MILLISECONDS"),
    (r"/\S+/broker-1/data", "FOLDER"),
    (r"/tmp/[^\s:]+", "FILE"),
    (r"(?<=Invalid UUID string: )\S+", "ID"),
    (r'(?<="logDir":")[^"]+', "FOLDER"),
    (r'(?<="size":)\d+', "0"),
    # Clusters with ZooKeeper and with KRaft have different texts.
    (r"partition\(s\)", "partitions"),
    # Traces of Java, and of Scala, follow the sentence.
    (r"(?m)^(java|org)\.\S+Exception.*\n", ""),
    (r"(?m)^(\tat |Caused by: |\tSuppressed: |\t\.\.\.).*\n", ""),
    (r"org\.apache\.kafka\.common\.errors\.SecurityDisabledException: ", ""),
)
"""Regular expressions of texts that differ between runs, with replacements."""


JAVA_LOG = ("SLF4J", "log4j:", "[2", " (", "\tat ")
"""Beginnings of lines of stderr that belong to the log of Java."""


class Outcome(NamedTuple):
    """The output of a run of a script.

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
            log_dir["partitions"].sort(key=lambda replica: replica["partition"])
    return json.dumps(document)


def words(case: str, cluster: KafkaCluster, files: Path) -> list[str]:
    """Return the name of the script and its arguments."""
    id = topic_id(cluster) if "{topic_id}" in case else ""
    name, *arguments = case.format(files=files, topic_id=id).split()
    return [name, "--bootstrap-server", cluster.bootstrap, *arguments]


def topic_id(cluster: KafkaCluster) -> str:
    """Return the id of the topic `orders`."""
    with BlockingAdminClient(cluster.bootstrap) as admin:
        described = admin.describe_topics(["orders"])["orders"]
    assert isinstance(described, TopicDescription)
    assert described.topic_id is not None
    return uuid_to_text(described.topic_id)


def write_files(folder: Path, cluster: KafkaCluster) -> None:
    """Write the files that cases name."""
    for name, content in FILES.items():
        text = content if isinstance(content, str) else json.dumps(content)
        log_dir = cluster.folder / "broker-1" / "data"
        (folder / name).write_text(text.replace("{log_dir}", str(log_dir)).replace("{files}", str(folder)))
