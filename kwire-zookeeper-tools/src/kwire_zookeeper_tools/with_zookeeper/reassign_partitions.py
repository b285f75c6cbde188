"""`kafka-reassign-partitions --zookeeper`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire.client.admin import ReassignmentState
from kwire_admin.compat.options import ScriptUsageError
from kwire_admin.compat.script import ZOOKEEPER, Script, ScriptFailed, ScriptRefused
from kwire_admin.compat.scripts.reassign_partitions import (
    propose,
    read_targets,
    reassign_partitions,
    throttle_brokers,
    throttles_to_clear,
)
from kwire_admin.operations.partitions import existing_topics
from kwire_cluster.zookeeper.admin_requests import PartitionReassignment, ReassignPartitions
from kwire_zookeeper_tools.with_zookeeper import tool_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin import AdminClient, TopicDescription
    from kwire_admin.compat.script import ScriptRun
    from kwire_admin.compat.scripts.reassign_partitions import Assigned, Targets

DYNAMIC = (1, 2)
"""The sources of configs that are set for a topic or a broker, of ConfigSource."""
THROTTLED = (
    "Warning: You must run Verify periodically, until the reassignment completes, to ensure the throttle is removed. "
    "You can also alter the throttle by rerunning the Execute command passing a new value."
)


async def run(run: ScriptRun) -> None:
    """Run the action.

    Raises:
        ScriptUsageError: the options do not fit together.
        ScriptFailed: a file is invalid, or the cluster refused something.
    """
    values = run.values
    action = values.one_action("--generate, --execute or --verify")
    values.need("zookeeper")
    file = values.get("reassignment-json-file")
    if action == "generate" and not ("topics-to-move-json-file" in values and "broker-list" in values):
        raise ScriptUsageError(
            "If --generate option is used, command must include both --topics-to-move-json-file and --broker-list "
            "options"
        )
    if action != "generate" and file is None:
        when = "output during the --generate" if action == "execute" else "used during the --execute"
        raise ScriptUsageError(
            f"If --{action} option is used, command must include --reassignment-json-file that was {when} option"
        )
    if action == "generate":
        await _generate(run)
    elif action == "execute":
        await _execute(run, read_targets(_existing(file))[0])
    else:
        await _verify(run, read_targets(_existing(file))[0])


async def _admin(run: ScriptRun) -> AdminClient:
    return await tool_run(run).admin()


def _existing(path: str | None) -> str:
    """Return the path of a file that can be opened; of one that cannot, the old script prints the error of Java."""
    try:
        Path(path or "").open("rb").close()
    except OSError as error:
        raise ScriptRefused(f"{path} ({error.strerror})") from None
    return path or ""


def _document(partitions: Iterable[Assigned]) -> str:
    return ReassignPartitions(tuple(PartitionReassignment(*partition) for partition in partitions)).encode().decode()


async def _generate(run: ScriptRun) -> None:
    _existing(run.values.get("topics-to-move-json-file"))
    brokers = (run.values.get("broker-list") or "").split(",")
    if twice := sorted({id for id in brokers if brokers.count(id) > 1}):  # a newer script prints it as a list of Java
        raise ScriptRefused(f"Broker list contains duplicate entries: {','.join(twice)}")
    current, proposed = await propose(run, await _admin(run))
    # Before 0.10.2, the empty line was below the titles.
    title, end = ("\n", "") if run.is_before("0.10.2.0") else ("", "\n")
    run.print(f"Current partition replica assignment\n{title}{_document(current)}{end}")
    run.print(f"Proposed partition reassignment configuration\n{title}{_document(proposed)}")


async def _topics(admin: AdminClient, names: list[str]) -> dict[str, TopicDescription]:
    return await existing_topics(admin, names)


def _current(described: dict[str, TopicDescription]) -> list[Assigned]:
    return [
        (name, partition.partition, partition.replicas)
        for name, topic in described.items()
        for partition in topic.partitions
    ]


async def _execute(run: ScriptRun, targets: Targets) -> None:
    admin = await _admin(run)
    described = await _topics(admin, [*targets])
    # All partitions of the topics, also partitions that stay.
    run.print(f"Current partition replica assignment\n\n{_document(_current(described))}\n")
    run.print("Save this to use as the --reassignment-json-file option during rollback")
    rate = run.values.number("throttle")
    if rate is not None and rate >= 0:
        run.print(THROTTLED)
        await throttle_brokers(admin, described, targets, rate)
        run.print(f"The throttle limit was set to {rate} B/s")
    outcomes = await admin.reassign_partitions(targets)
    for item, error in outcomes.errors.items():
        run.print(f"{item}: {error.text}")
    started = [(topic, index, replicas) for topic, of in targets.items() for index, replicas in of.items()]
    if outcomes.errors:
        raise ScriptFailed(f"Failed to reassign partitions {_document(started)}", on_stdout=True)
    shown = f" {_document(started)}" if run.is_before("0.10.2.0") else "."
    run.print(f"Successfully started reassignment of partitions{shown}")


async def _verify(run: ScriptRun, targets: Targets) -> None:
    admin = await _admin(run)
    # The blank at the end came with the throttles of 0.10.1.
    run.print("Status of partition reassignment:" + ("" if run.is_before("0.10.1.0") else " "))
    described = await _topics(admin, [*targets])
    moves = {status.topic: status.partitions for status in await admin.list_reassignments(targets)}
    phrases = {
        ReassignmentState.COMPLETED: "completed successfully",
        ReassignmentState.MOVING: "is still in progress",
        ReassignmentState.FAILED: "failed",
    }
    lines, states = [], set()
    for topic, of in targets.items():
        replicas = {partition.partition: partition.replicas for partition in described[topic].partitions}
        for index, target in of.items():
            state = ReassignmentState(moves[topic][index])
            states.add(state)
            if state is ReassignmentState.FAILED:
                run.print(
                    f"ERROR: Assigned replicas ({','.join(map(str, replicas.get(index, ())))}) don't match the list of "
                    f"replicas for reassignment ({','.join(map(str, target))}) for partition [{topic},{index}]"
                )
            lines.append(f"Reassignment of partition [{topic},{index}] {phrases[state]}")
    for line in lines:
        run.print(line)
    if states == {ReassignmentState.COMPLETED} and not run.is_before("0.10.1.0"):
        await _clear_throttles(run, admin, [*targets])


async def _clear_throttles(run: ScriptRun, admin: AdminClient, topics: list[str]) -> None:
    changes = await throttles_to_clear(admin, topics)
    described = await admin.describe_configs(changes)
    is_set = any(
        config.source in DYNAMIC and name in changes[resource].delete
        for resource, configs in described.items()
        if isinstance(configs, dict)
        for name, config in configs.items()
    )
    if is_set:
        (await admin.alter_configs(changes)).raise_first()
        run.print("Throttle was removed.")


script = Script(
    "kafka-reassign-partitions",
    ("kafka.admin.ReassignPartitionsCommand",),
    (
        ZOOKEEPER,
        *reassign_partitions.chosen_options("generate", "execute", "verify", "disable-rack-aware", "throttle"),
        *reassign_partitions.chosen_options("reassignment-json-file", "topics-to-move-json-file", "broker-list"),
    ),
    run,
    "Partitions reassignment failed due to ",
    banner="This command moves topic partitions between replicas.",
    codes=dict.fromkeys(("0.8.2.2", "0.9.0.1", "0.10.2.2"), 0),
)
