"""`kafka-reassign-partitions`."""

from __future__ import annotations

import json
from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING, Any

from kwire._util.text_files import EncodingError
from kwire.client.admin import AdminError, ConfigChange, ConfigResource, ConfigResourceType
from kwire_admin.compat.log_dir_moves import ANY, LogDirReplica, active_moves, print_states, start_moves
from kwire_admin.compat.options import ScriptOption, ScriptUsageError
from kwire_admin.compat.script import (
    BOOTSTRAP,
    COMMAND_CONFIG,
    ZOOKEEPER,
    Script,
    ScriptFailed,
    ScriptRefused,
    read_json,
)
from kwire_admin.reassignment.throttle import RATES, REPLICAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin import AdminClient, TopicDescription
    from kwire_admin.compat.script import ScriptRun

    Targets = dict[str, dict[int, tuple[int, ...]]]
    Assigned = tuple[str, int, tuple[int, ...]]
    """A topic, a partition, and its replicas."""

UNKNOWN_TOPIC = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
TIMEOUT_MS = 10_000
"""Default timeout in milliseconds until moves between log directories start: Kafka's `--timeout`."""
LOG_DIR_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
BROKER_THROTTLES = (*RATES, LOG_DIR_THROTTLE)
RATE_OPTIONS = ("throttle", "replica-alter-log-dirs-throttle")


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: a file is invalid, or the cluster refused something.
    """
    values = run.values
    action = values.one_action("--generate, --execute, --verify, --cancel, --list")
    if action not in {"generate", "list"}:
        values.need("reassignment-json-file")
    if "bootstrap-server" not in values:
        raise ScriptUsageError("Please specify --bootstrap-server")
    values.check_numbers()  # before anything changes, as Kafka's parser reads numbers with the other options
    if action == "generate":
        values.need("broker-list", "topics-to-move-json-file")
        await _generate(run, await run.admin())
        return
    if action == "list":
        for option in ("reassignment-json-file", "topics-to-move-json-file", "broker-list", "timeout"):
            if option in values:
                raise ScriptUsageError(f'Option "[{option}]" can\'t be used with action "[list]"')
        await _list(run, await run.admin())
        return
    targets, log_dirs = read_targets(values.get("reassignment-json-file") or "", may_be_empty=action != "execute")
    admin = await run.admin()
    if action == "execute":
        await _execute(run, admin, targets, log_dirs)
    elif action == "verify":
        await _verify(run, admin, targets, log_dirs)
    else:
        await _cancel(run, admin, targets, log_dirs)


def _read(path: str) -> Any:
    try:
        return read_json(path, ScriptRefused("The input string shouldn't be empty"))
    except ScriptFailed as error:
        if "cannot read" in str(error):
            # Kafka's sentence, and behind it the encoding of a text that is not UTF-8.
            reason = f": {error.__context__}" if isinstance(error.__context__, EncodingError) else ""
            raise ScriptRefused(f"Unable to read file {path}{reason}") from None
        raise


def read_targets(path: str, *, may_be_empty: bool = False) -> tuple[Targets, dict[LogDirReplica, str]]:
    """Return the replicas of partitions in a file, by topic and partition, and the log directories of replicas.

    Args:
        path: the file.
        may_be_empty: True if Kafka's script accepts a file without partitions.

    Raises:
        ScriptRefused: the file is invalid.
    """
    document = _read(path)
    version = document.get("version", 1) if isinstance(document, dict) else 1
    if version != 1:
        raise ScriptRefused(f"Not supported version field value {version}")
    try:
        partitions = document.get("partitions", ())
        entries = [(entry["topic"], entry["partition"], tuple(entry["replicas"])) for entry in partitions]
        log_dirs = [entry.get("log_dirs", [ANY] * len(entry["replicas"])) for entry in partitions]
    except (AttributeError, KeyError, TypeError):
        raise ScriptRefused(f"{path}: expected partitions with topic, partition, and replicas") from None
    if not entries and not may_be_empty:
        raise ScriptRefused("Partition reassignment list cannot be empty")
    if duplicates := _repeated(f"{topic}-{index}" for topic, index, _ in entries):
        raise ScriptRefused(f"Partition reassignment contains duplicate topic partitions: {','.join(duplicates)}")
    targets: Targets = defaultdict(dict)
    for topic, index, replicas in entries:
        if not isinstance(topic, str) or {type(number) for number in (index, *replicas)} - {int}:
            raise ScriptRefused(f"{path}: expected partitions with topic, partition, and replicas")
        if not replicas:
            raise ScriptRefused("Partition replica list cannot be empty")
        if repeated := _repeated(map(str, replicas)):
            raise ScriptRefused(  # the sentence of Kafka's script
                f"Partition replica lists may not contain duplicate entries: {topic}-{index} contains "
                f"multiple entries for {','.join(repeated)}"
            )
        targets[topic][index] = replicas
    return dict(targets), _log_dirs(entries, log_dirs)


def _repeated(texts: Iterable[str]) -> list[str]:
    from collections import Counter

    return sorted(text for text, count in Counter(texts).items() if count > 1)


def _log_dirs(entries: list[tuple[str, int, tuple[int, ...]]], log_dirs: list[list[str]]) -> dict[LogDirReplica, str]:
    """Return the log directories of the replicas that do not go to any."""
    paths_by_replica: dict[LogDirReplica, str] = {}
    for (topic, index, replicas), paths in zip(entries, log_dirs, strict=True):
        if len(replicas) != len(paths):
            raise ScriptRefused(
                f"Size of replicas list {[*replicas]} is different from size of log dirs list "
                f"[{', '.join(paths)}] for partition {topic}-{index}"
            )
        paths_by_replica |= {
            LogDirReplica(broker, topic, index): path
            for broker, path in zip(replicas, paths, strict=True)
            if path != ANY
        }
    return paths_by_replica


def _document(partitions: list[tuple[str, int, tuple[int, ...]]]) -> str:
    entries = [
        {"topic": topic, "partition": index, "replicas": list(replicas), "log_dirs": ["any"] * len(replicas)}
        for topic, index, replicas in partitions
    ]
    return json.dumps({"version": 1, "partitions": entries}, separators=(",", ":"))


async def _topics(admin: AdminClient, names: list[str]) -> dict[str, TopicDescription]:
    described = {}
    for name, topic in sorted((await admin.describe_topics(names)).items()):
        if isinstance(topic, AdminError):
            raise ScriptRefused(f"{UNKNOWN_TOPIC}Topic {name} not found.")
        described[name] = topic
    return described


async def _generate(run: ScriptRun, admin: AdminClient) -> None:
    current, proposed = await propose(run, admin)
    run.print(f"Current partition replica assignment\n{_document(current)}\n")
    run.print(f"Proposed partition reassignment configuration\n{_document(proposed)}")


async def propose(run: ScriptRun, admin: AdminClient) -> tuple[list[Assigned], list[Assigned]]:
    """Return the replicas of the topics of a file, and others on the brokers of `--broker-list`.

    Raises:
        ScriptRefused: an option is invalid, or the brokers cannot have the replicas.
    """
    from kwire.metadata.replica_assignment import ImpossibleAssignment, assign_replicas

    values = run.values
    try:
        brokers = [int(text) for text in (values.get("broker-list") or "").split(",")]
        names = [topic["topic"] for topic in _read(values.get("topics-to-move-json-file") or "").get("topics", ())]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ScriptRefused("Broker list or topics to move contains invalid entries") from None
    if repeated := sorted({broker for broker in brokers if brokers.count(broker) > 1}):
        raise ScriptRefused(f"Broker list contains duplicate entries: {repeated}")
    racks = {broker.id: broker.rack for broker in (await admin.describe_cluster()).brokers}
    # Brokers that are not live are left out, as by Kafka's script: they could not become replicas.
    chosen = {id: None if "disable-rack-aware" in values else racks[id] for id in brokers if id in racks}
    if len({rack is None for rack in chosen.values()}) > 1:
        raise ScriptRefused(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    current, proposed = [], []
    for name, topic in (await _topics(admin, names)).items():
        factor = len(topic.partitions[0].replicas)
        try:
            assigned = assign_replicas(chosen, len(topic.partitions), factor, Random())
        except ImpossibleAssignment as error:
            raise ScriptRefused(error.reason) from None
        for partition, replicas in zip(topic.partitions, assigned, strict=True):
            current.append((name, partition.partition, partition.replicas))
            proposed.append((name, partition.partition, replicas))
    return current, proposed


async def _execute(
    run: ScriptRun,
    admin: AdminClient,
    targets: Targets,
    log_dirs: Mapping[LogDirReplica, str],
) -> None:
    described = await _topics(admin, sorted(targets))
    brokers = {broker.id for broker in (await admin.describe_cluster()).brokers}
    unknown = sorted({id for of in targets.values() for replicas in of.values() for id in replicas} - brokers)
    if unknown:
        raise ScriptRefused(f"Unknown broker id {unknown[0]}")
    moving = await admin.list_reassignments()
    if any(status.moves for status in moving) and "additional" not in run.values:
        raise ScriptRefused(
            "Cannot execute because there is an existing partition assignment.  Use --additional to override this and "
            "create a new partition assignment in addition to the existing one. The --additional flag can also be "
            "used to change the throttle by resubmitting the current reassignment."
        )
    current = [
        (name, partition.partition, partition.replicas)
        for name, topic in described.items()
        for partition in topic.partitions
        if partition.partition in targets[name]
    ]
    run.print(f"Current partition replica assignment\n\n{_document(current)}\n")
    run.print("Save this to use as the --reassignment-json-file option during rollback")
    # A negative rate means no throttle, as in Kafka's script.
    rate, log_dir_rate = (-1 if (number := run.values.number(name)) is None else number for name in RATE_OPTIONS)
    if rate >= 0 or log_dir_rate >= 0:
        run.print(
            "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is "
            "removed."
        )
    if rate >= 0:
        await throttle_brokers(admin, described, targets, rate)
        run.print(f"The inter-broker throttle limit was set to {rate} B/s")
    if log_dir_rate >= 0:
        await _limit(admin, {replica.broker for replica in log_dirs}, (LOG_DIR_THROTTLE,), log_dir_rate)
        run.print(f"The replica-alter-dir throttle limit was set to {log_dir_rate} B/s")
    outcomes = await admin.reassign_partitions(
        targets, allow_replication_factor_change="disallow-replication-factor-change" not in run.values
    )
    if outcomes.errors:
        lines = [f"{item}: {error.text}" for item, error in sorted(outcomes.errors.items())]
        raise ScriptFailed("\n".join(["Error reassigning partition(s):", *lines]), on_stdout=True)
    names = sorted(f"{topic}-{index}" for topic, indexes in targets.items() for index in indexes)
    run.print(f"Successfully started partition reassignment{'s' if len(names) > 1 else ''} for {','.join(names)}")
    await start_moves(run, admin, log_dirs, _timeout_ms(run))


def _timeout_ms(run: ScriptRun) -> int:
    timeout = run.values.number("timeout")
    return TIMEOUT_MS if timeout is None else timeout


async def _limit(admin: AdminClient, brokers: Iterable[int], names: Iterable[str], rate: int) -> None:
    """Set configs of brokers to a rate in bytes per second. Nodes of kwire hold no logs, and have no such settings."""
    if admin.dialect == "kip4":
        return
    change = ConfigChange(set=dict.fromkeys(names, str(rate)))
    changes = {ConfigResource(ConfigResourceType.BROKER, str(id)): change for id in brokers}
    (await admin.alter_configs(changes)).raise_first()


async def throttle_brokers(
    admin: AdminClient, described: Mapping[str, TopicDescription], targets: Targets, rate: int
) -> None:
    """Limit the rate of the brokers and partitions that take part."""
    leaders: dict[str, list[str]] = defaultdict(list)
    followers: dict[str, list[str]] = defaultdict(list)
    brokers: set[int] = set()
    for name, topic in described.items():
        for partition in topic.partitions:
            if partition.partition in targets[name]:
                added = [id for id in targets[name][partition.partition] if id not in partition.replicas]
                leaders[name] += [f"{partition.partition}:{id}" for id in partition.replicas]
                followers[name] += [f"{partition.partition}:{id}" for id in added]
                brokers |= {*partition.replicas, *added}
    changes = {
        ConfigResource(ConfigResourceType.TOPIC, name): ConfigChange(
            set=dict(zip(REPLICAS, (",".join(leaders[name]), ",".join(followers[name])), strict=True))
        )
        for name in described
    }
    # A dead broker sends and receives nothing, and does not answer. The rates come first: without them, the lists of
    # topics have no effect.
    live = {broker.id for broker in (await admin.describe_cluster()).brokers}
    await _limit(admin, brokers & live, RATES, rate)
    (await admin.alter_configs(changes)).raise_first()


async def _clear_throttles(run: ScriptRun, admin: AdminClient, topics: list[str]) -> None:
    """Delete the throttles of all brokers and of topics, and raise ScriptRefused for a topic that does not exist."""
    if "preserve-throttles" in run.values:
        return
    brokers = sorted(broker.id for broker in (await admin.describe_cluster()).brokers)
    ids, names = ",".join(map(str, brokers)), ",".join(topics)
    run.print(f"Clearing broker-level throttles on broker{'s' if len(brokers) > 1 else ''} {ids}")
    run.print(f"Clearing topic-level throttles on topic{'s' if len(topics) > 1 else ''} {names}")
    described = await admin.describe_topics(topics)
    missing = [name for name, topic in described.items() if isinstance(topic, AdminError)]
    existing = [name for name in topics if name not in missing]
    (await admin.alter_configs(await throttles_to_clear(admin, existing))).raise_first()
    if missing:
        raise ScriptRefused(f"{UNKNOWN_TOPIC}The topic '{missing[0]}' does not exist.")


async def throttles_to_clear(admin: AdminClient, topics: Iterable[str]) -> dict[ConfigResource, ConfigChange]:
    """Return the changes that delete the throttles of all brokers and of topics."""
    brokers = [str(broker.id) for broker in (await admin.describe_cluster()).brokers if admin.dialect == "kafka"]
    return {ConfigResource(ConfigResourceType.BROKER, id): ConfigChange(delete=BROKER_THROTTLES) for id in brokers} | {
        ConfigResource(ConfigResourceType.TOPIC, name): ConfigChange(delete=REPLICAS) for name in topics
    }


async def _verify(run: ScriptRun, admin: AdminClient, targets: Targets, log_dirs: Mapping[LogDirReplica, str]) -> None:
    moves = {status.topic: status.moves for status in await admin.list_reassignments()}
    described = await admin.describe_topics(sorted(targets))
    run.print("Status of partition reassignment:")
    moving = False
    for name, indexes in sorted(targets.items()):
        topic = described[name]
        partitions = (
            {} if isinstance(topic, AdminError) else {partition.partition: partition for partition in topic.partitions}
        )
        for index, replicas in sorted(indexes.items()):
            partition = partitions.get(index)
            if index in moves.get(name, {}):
                moving = True
                run.print(f"Reassignment of partition {name}-{index} is still in progress.")
            elif partition is not None and partition.replicas == replicas:
                run.print(f"Reassignment of partition {name}-{index} is completed.")
            else:
                current = () if partition is None else partition.replicas
                run.print(  # the text of Kafka's script, which has two blanks for a partition that does not exist
                    f"There is no active reassignment of partition {name}-{index}, but replica set is "
                    f"{','.join(map(str, current))} rather than {','.join(map(str, replicas))}."
                )
    between_log_dirs = await print_states(run, admin, log_dirs)
    if not moving and not between_log_dirs and not any(moves.values()):
        await _clear_throttles(run, admin, sorted(targets))


async def _cancel(run: ScriptRun, admin: AdminClient, targets: Targets, log_dirs: Mapping[LogDirReplica, str]) -> None:
    moves = {status.topic: status.moves for status in await admin.list_reassignments()}
    active = {
        name: [index for index in indexes if index in moves.get(name, {})] for name, indexes in sorted(targets.items())
    }
    active = {name: indexes for name, indexes in active.items() if indexes}
    if active:
        (await admin.cancel_reassignments(active)).raise_first()
        names = [f"{name}-{index}" for name, indexes in active.items() for index in sorted(indexes)]
        run.print(
            f"Successfully cancelled partition reassignment{'s' if len(names) > 1 else ''} for: {','.join(names)}"
        )
    else:
        run.print("None of the specified partition reassignments are active.")
    back = await active_moves(admin, log_dirs)
    if back:
        await start_moves(run, admin, back, _timeout_ms(run))
    else:
        run.print("None of the specified partition moves are active.")
    await _clear_throttles(run, admin, sorted(targets))


async def _list(run: ScriptRun, admin: AdminClient) -> None:
    lines = []
    for status in sorted(await admin.list_reassignments(), key=lambda move: move.topic):
        for index, move in sorted(status.moves.items()):
            line = f"{status.topic}-{index}: replicas: {','.join(map(str, move.replicas))}."
            if move.adding:
                line += f" adding: {','.join(map(str, move.adding))}."
            if move.removing:
                line += f" removing: {','.join(map(str, move.removing))}."
            lines.append(line)
    run.print("Current partition reassignments:" if lines else "No partition reassignments found.")
    for line in lines:
        run.print(line)


reassign_partitions = Script(
    "kafka-reassign-partitions",
    ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "kafka.admin.ReassignPartitionsCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ZOOKEEPER,
        ScriptOption("generate", "Generate a candidate partition reassignment configuration."),
        ScriptOption("execute", "Kick off the reassignment as specified by the --reassignment-json-file option."),
        ScriptOption("verify", "Verify if the reassignment of --reassignment-json-file completed."),
        ScriptOption("cancel", "Cancel an active reassignment."),
        ScriptOption("list", "List all active partition reassignments."),
        ScriptOption(
            "reassignment-json-file", "The JSON file with the reassignment.", "manual assignment json file path"
        ),
        ScriptOption(
            "topics-to-move-json-file", "The JSON file with the topics, for --generate.", "topics json file path"
        ),
        ScriptOption("broker-list", 'The brokers for --generate in the form "0,1,2".', "brokerlist"),
        ScriptOption("disable-rack-aware", "Disable rack aware replica assignment."),
        ScriptOption("throttle", "Limit of moves between brokers in bytes per second.", "throttle", "Long"),
        ScriptOption("replica-alter-log-dirs-throttle", "The same between log directories.", "throttle", "Long"),
        ScriptOption("timeout", "Time in ms in which moves between log directories must begin.", "timeout", "Long"),
        ScriptOption("disallow-replication-factor-change", "Refuse a change of the number of replicas (Kafka 4.1)."),
        ScriptOption("additional", "Execute this reassignment in addition to any other ongoing ones."),
        ScriptOption("preserve-throttles", "Do not modify broker or topic throttles."),
    ),
    run,
)
