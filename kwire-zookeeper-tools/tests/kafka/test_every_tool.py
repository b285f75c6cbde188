"""Every tool with the same arguments as a command, as a statement of the shell, from Python, and on a node.

The tools work with a real broker of Kafka 3.9.1, which also the node reaches, and with files in the folder of the node.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kwire import records
from kwire.client.admin import AdminClient, NewTopic, TopicPartition
from kwire.client.record_sender import RecordSender
from kwire.records import Record
from kwire_admin.operations.registry import kwire_tools
from kwire_cluster.local.local_cluster import LocalCluster
from kwire_cluster.zookeeper import ConsumerOffset, ConsumerOwner, ConsumerRegistration, connect, make_path
from kwire_zookeeper_tools import find_tool, run_tool_words
from tests.cli.running import Run, kwire
from tests.free_ports import free_ports
from tests.paths import ROOT
from tests.real_kafka.jars import jars_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.real_kafka import Kafka39, Kafka44

GROUP = "every-tool"
RECORDS = [Record(offset=at, timestamp=1_700_000_000_000, key=None, value=b"value %d" % at) for at in range(20)]
STATE_CHANGES = """\
[2026-11-22 08:00:00,001] TRACE Controller 1 epoch 1 changed partition [orders,0] to Online (state.change.logger)
[2026-11-22 08:00:00,003] TRACE Broker 1 cached leader info for partition audit-1 (state.change.logger)
"""


class Way(StrEnum):
    """A way to run a tool. Topics are named after it; the names have one length, because some tools align columns."""

    COMMAND = "command"
    SHELL = "inshell"
    PYTHON = "python3"
    NODE = "on-node"


class Example(NamedTuple):
    """A run of a tool.

    Attributes:
        words: the arguments; names in braces are replaced.
        expected: a text in the output, or in the reason of a failure.
        status: the exit status.
    """

    words: str
    expected: str
    status: int = 0


BROKERS = "--bootstrap-server {kafka}"
ZOOKEEPER = "--zookeeper {zookeeper}"
EXAMPLES = {
    "add-partitions": Example(f"{ZOOKEEPER} --topic every-{{way}} --partition 1", "Adding partitions succeeded!"),
    "configs": Example(
        f"{BROKERS} --alter --entity-type topics --entity-name every-{{way}} --add-config segment.ms=7000",
        "Completed updating config for topic every-WAY.",
    ),
    "consumer-groups": Example(f"{BROKERS} --describe --group {GROUP}", f"{GROUP} every-tool 0 5 20 15"),
    "consumer-offset-checker": Example(f"{ZOOKEEPER} --group {GROUP}", f"{GROUP} every-tool 0 5 20 15"),
    "create-topic": Example(f"{ZOOKEEPER} --topic created-{{way}} --partition 2", 'Created topic "created-WAY".'),
    "delete-topic": Example(f"{BROKERS} --topic deleted-{{way}}", "Topic deleted-WAY is marked for deletion."),
    "dump-log-segments": Example("--files {folder}/00000000000000000000.log --print-data-log", "payload: value 19"),
    "export-zk-offsets": Example(f"{ZOOKEEPER} --group {GROUP}", f"/consumers/{GROUP}/offsets/every-tool/0:5"),
    "features": Example("--bootstrap-server {target} describe", "Feature: metadata.version SupportedMinVersion: "),
    "get-offset-shell": Example("--broker-list {kafka} --topic every-tool", "every-tool:0:20"),
    "import-zk-offsets": Example(f"{ZOOKEEPER} --input-file {{folder}}/offsets.txt", "1 offset written to ZooKeeper"),
    "jmx-tool": Example(
        "--jmx-url {jolokia} --object-name java.lang:type=Memory --attributes Verbose --one-time",
        "TIME,False",
    ),
    "list-topic": Example(f"{ZOOKEEPER} --topic every-tool", "Topic:every-tool PartitionCount:1"),
    "mirror-maker": Example(
        "--source {kafka} --target {target} --whitelist every-tool --group mirror-{way} --until-caught-up",
        "20 records copied",
    ),
    "preferred-replica-leader-election": Example(
        f"{BROKERS} --path-to-json-file {{folder}}/partitions.json", "every-tool"
    ),
    "reassign-partitions": Example(
        f"{BROKERS} --verify --reassignment-json-file {{folder}}/plan.json",
        "Reassignment of partition [every-tool,0] completed successfully",
    ),
    "replay-log-producer": Example(
        f"{BROKERS} --inputtopic every-tool --outputtopic every-{{way}}",
        "20 records copied from every-tool to every-WAY",
    ),
    "replica-verification-tool": Example(
        "--broker-list {kafka} --topic-white-list every-tool", "1 partition, 20 records compared on 1 replica"
    ),
    "shutdown-broker": Example("--zookeeper {nodes} --broker 2", "shutdown status: complete"),
    "simple-consumer-shell": Example(
        "--broker-list {kafka} --topic every-tool --offset 18 --print-offsets --no-wait-at-logend",
        "value 18 next offset = 19 value 19 next offset = 20",
    ),
    "state-change-log-merger": Example("--logs {folder}/state-change.log --topic orders", "partition [orders,0]"),
    "topics": Example(f"{BROKERS} --describe --topic every-tool", "Topic: every-tool Partition: 0 Leader: 1"),
    "update-offsets-in-zk": Example(
        "latest {folder}/consumer.properties every-tool", "updating partition 0 with new offset: 20"
    ),
    "verify-consumer-rebalance": Example(f"{ZOOKEEPER} --group {GROUP}", "Rebalance operation successful !"),
}


class Places(NamedTuple):
    """The places where tools run.

    Attributes:
        nodes: the brokers of a cluster of two nodes.
        replacements: the values of the names in braces.
    """

    nodes: str
    replacements: Mapping[str, str]


@pytest.fixture(scope="module")
def places(kafka39: Kafka39, kafka44: Kafka44, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    folder = tmp_path_factory.mktemp("tools")
    asyncio.run(fill_brokers(kafka39, kafka44))
    asyncio.run(fill_zookeeper(kafka39.zookeeper))
    write_files(folder, kafka39)
    [jar] = jars_of(ROOT / "kwire-zookeeper-tools/tests/zookeeper_tools/tools/jolokia.xml").iterdir()
    [port] = free_ports(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"-javaagent:{jar}=port={port},host=127.0.0.1")
        cluster = LocalCluster(nodes=2, settings={"tools.folders": str(folder)})
        cluster.start()
    try:
        replacements = {
            "kafka": kafka39.bootstrap,
            "zookeeper": kafka39.zookeeper,
            "target": kafka44.bootstrap,
            "nodes": cluster.zookeeper.hosts,
            "folder": str(folder),
            "jolokia": f"http://127.0.0.1:{port}/jolokia",
        }
        yield Places(cluster.bootstrap, replacements)
    finally:
        cluster.close()


async def fill_brokers(kafka39: Kafka39, kafka44: Kafka44) -> None:
    """Create the topics of the examples, 20 records, and the offset 5 of a group."""
    unlimited = NewTopic(partitions=1, replication_factor=1, configs={"retention.ms": "-1"})
    changed = [f"{name}-{way}" for name in ("every", "deleted") for way in Way]
    for cluster, topics in ((kafka39, ["every-tool", *changed]), (kafka44, ["every-tool"])):
        async with await AdminClient.open(cluster.bootstrap) as admin:
            (await admin.create_topics(dict.fromkeys(topics, unlimited))).raise_first()
            await admin.wait_until_created(topics)
    async with await AdminClient.open(kafka39.bootstrap) as admin:
        partition = TopicPartition("every-tool", 0)
        assert await RecordSender(admin).send({partition: records.encode(RECORDS)}) == {partition: 0}
        (await admin.alter_group_offsets(GROUP, {partition: 5})).raise_first()


async def fill_zookeeper(hosts: str) -> None:
    """Register a consumer, which owns the partition, and its offset."""
    store = await connect(hosts)
    consumer = ConsumerRegistration("static", {"every-tool": 1})
    for path, data in (
        (ConsumerOffset.path(GROUP, "every-tool", 0), b"5"),
        (ConsumerRegistration.path(GROUP, f"{GROUP}_host-1"), consumer.encode()),
        (ConsumerOwner.path(GROUP, "every-tool", 0), f"{GROUP}_host-1-0".encode()),
    ):
        await make_path(store, path)
        await store.set(path, data)
    await store.close()


def write_files(folder: Path, kafka39: Kafka39) -> None:
    """Write the files of the examples."""
    [log] = (kafka39.folder / "broker-1" / "data" / "every-tool-0").glob("*.log")
    shutil.copy(log, folder)
    partition = {"topic": "every-tool", "partition": 0}
    (folder / "partitions.json").write_text(json.dumps({"partitions": [partition]}))
    (folder / "plan.json").write_text(json.dumps({"version": 1, "partitions": [partition | {"replicas": [1]}]}))
    (folder / "offsets.txt").write_text(f"{ConsumerOffset.path('imported', 'every-tool', 0)}:3\n")
    (folder / "consumer.properties").write_text(f"group.id=updated\nzookeeper.connect={kafka39.zookeeper}\n")
    (folder / "state-change.log").write_text(STATE_CHANGES)


def test_every_tool_has_an_example() -> None:
    assert set(EXAMPLES) == set(kwire_tools())


@pytest.mark.parametrize("name", kwire_tools())
async def test_tool_does_the_same_everywhere(name: str, places: Places) -> None:
    example = EXAMPLES[name]
    ended: dict[Way, tuple[int, str]] = {}
    for way in Way:
        words = shlex.split(example.words.format(**places.replacements, way=way))
        status, output = await run(way, name, words, places)
        ended[way] = status, comparable(output, way)

    status, output = ended[Way.PYTHON]
    assert (status, example.expected in " ".join(output.split())) == (example.status, True), output
    assert ended == dict.fromkeys(Way, ended[Way.PYTHON])


async def run(way: Way, name: str, words: list[str], places: Places) -> tuple[int, str]:
    """Run a tool, and return its exit status, its output, and the reason of a failure as the last line."""
    command = ("tools", "run", "--yes", name, *words)
    if way is Way.COMMAND:
        return printed(kwire(*command))
    if way is Way.SHELL:
        return printed(kwire("shell", "-b", places.nodes, stdin=f"{shlex.join(command)};"))
    if way is Way.NODE:
        async with await AdminClient.open(places.nodes) as admin:
            on_node = await admin.run_tool(name, words, broker_id=1)
            return on_node.exit_status, on_node.output
    tool = find_tool(name)
    assert tool is not None
    result = await run_tool_words(tool, words)
    return result.exit_status, result.output + (f"{result.error}\n" if result.error else "")


def printed(run: Run) -> tuple[int, str]:
    """Return the status and the output of a command or a script. The reason of a failure is a sentence on stderr."""
    reason = run.err.removeprefix("Error: ").removesuffix("Stopped after 1 statement.\n")
    return run.code, run.out + reason.replace(".\n", "\n")


def comparable(output: str, way: Way) -> str:
    """Return an output without what differs between runs: the topic, the time, and the epoch of the features."""
    for pattern, replacement in ((way, "WAY"), (r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "TIME"), (r"Epoch: \d+", "Epoch")):
        output = re.sub(pattern, replacement, output)
    return output
