"""`kafka-leader-election`, and `kafka-preferred-replica-election`, which Kafka 3.0 removed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kwire_admin.compat.options import ScriptOption
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, ZOOKEEPER, Script, ScriptFailed, java_error, read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_admin.compat.script import ScriptRun

    Partition = tuple[str, int]

TYPES = ("preferred", "unclean")
ONE_OF = ("topic", "all-topic-partitions", "path-to-json-file")


async def run(run: ScriptRun) -> None:
    """Elect leaders.

    Raises:
        ScriptFailed: the options do not fit together, or an election failed.
    """
    values = run.values
    missing = [name for name in ("election-type", "bootstrap-server") if name not in values]
    if missing:
        raise ScriptFailed(f"Missing required option(s): {', '.join(missing)}")
    if sum(name in values for name in ONE_OF) != 1:
        raise ScriptFailed(f"One and only one of the following options is required: {', '.join(ONE_OF)}")
    type = (values.get("election-type") or "").lower()
    if type not in TYPES:
        raise ScriptFailed(f"Cannot parse argument '{values.get('election-type')}' of option election-type")
    if ("topic" in values) != ("partition" in values):
        raise ScriptFailed(f"Missing required option(s): {'partition' if 'topic' in values else 'topic'}")
    chosen: list[Partition] | None = None
    if "topic" in values:
        chosen = [(values.get("topic") or "", values.number("partition") or 0)]
    elif "path-to-json-file" in values:
        chosen = read_partitions(values.get("path-to-json-file") or "")
    await _elect(run, chosen, unclean=type == "unclean")


async def run_preferred(run: ScriptRun) -> None:
    """Elect preferred leaders.

    Raises:
        ScriptFailed: the file is invalid, or an election failed.
    """
    path = run.values.get("path-to-json-file")
    await _elect(run, None if path is None else read_partitions(path), unclean=False)


def read_partitions(path: str) -> list[Partition]:
    """Return the partitions of a file such as `{"partitions": [{"topic": "orders", "partition": 1}]}`.

    Raises:
        ScriptFailed: the file is invalid.
    """
    document = read_json(path, empty=ScriptFailed("Replica election data is empty"))
    try:
        partitions = [(partition["topic"], partition["partition"]) for partition in document["partitions"]]
    except (KeyError, TypeError):
        raise ScriptFailed('Replica election data is missing "partitions" field') from None
    if not all(isinstance(topic, str) and type(index) is int for topic, index in partitions):
        raise ScriptFailed(f"{path}: expected a topic and the number of a partition")
    duplicates = sorted({f"{topic}-{index}" for topic, index in partitions if partitions.count((topic, index)) > 1})
    if duplicates:
        raise ScriptFailed(f"Replica election data contains duplicate partitions: {','.join(duplicates)}")
    return partitions


async def _elect(run: ScriptRun, chosen: list[Partition] | None, *, unclean: bool) -> None:
    admin = await run.admin()
    if chosen is not None and not chosen:  # Kafka's script ends with 0 and prints nothing
        return
    outcomes = await admin.elect_leaders(None if chosen is None else by_topic(chosen), unclean=unclean)
    needless = outcomes.unchanged
    elected = [item for item, error in outcomes.items() if error is None and item not in needless]
    if elected and admin.dialect == "kip4":  # nodes have only started the elections
        await admin.wait_until_preferred(by_topic(map(_partition, elected)))
    type = "UNCLEAN" if unclean else "PREFERRED"
    if elected:
        run.print(f"Successfully completed leader election ({type}) for partitions {', '.join(sorted(elected))}")
    if needless and chosen is not None:
        run.print(f"Valid replica already elected for partitions {', '.join(sorted(needless))}")
    for item, error in sorted(outcomes.errors.items()):
        run.print(f"Error completing leader election ({type}) for partition: {item}: {java_error(error)}")
    if outcomes.errors:
        raise ScriptFailed(f"{len(outcomes.errors)} replica(s) could not be elected")


def _partition(item: str) -> Partition:
    topic, _, index = item.rpartition("-")
    return topic, int(index)


def by_topic(chosen: Iterable[Partition]) -> dict[str, Sequence[int]]:
    """Return the indexes of partitions by topic."""
    indexes: dict[str, list[int]] = defaultdict(list)
    for topic, index in chosen:
        indexes[topic].append(index)
    return dict(indexes)


ADMIN_CONFIG = ScriptOption(
    "admin.config", "Properties file of the client.", "config file", same_as=COMMAND_CONFIG.name
)
PATH = ScriptOption(
    "path-to-json-file", 'File such as {"partitions": [{"topic": "foo", "partition": 1}]}.', "Path to JSON file"
)

leader_election = Script(
    "kafka-leader-election",
    ("org.apache.kafka.tools.LeaderElectionCommand", "kafka.admin.LeaderElectionCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ADMIN_CONFIG,
        PATH,
        ScriptOption("topic", "Name of topic for which to perform an election.", "topic name"),
        ScriptOption("partition", "Partition id for which to perform an election.", "partition id", "Integer"),
        ScriptOption("all-topic-partitions", "Perform election on all of the eligible topic partitions."),
        ScriptOption("election-type", "Type of election to attempt: preferred or unclean.", "[PREFERRED,UNCLEAN]"),
    ),
    run,
)

preferred_replica_election = Script(
    "kafka-preferred-replica-election",
    ("kafka.admin.PreferredReplicaLeaderElectionCommand",),
    (
        BOOTSTRAP,
        ZOOKEEPER,
        COMMAND_CONFIG,
        ADMIN_CONFIG,
        PATH,
    ),
    run_preferred,
)
