"""The tool `reassign-partitions`."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Annotated

from kwire.client.admin import AdminClient, ReassignmentState
from kwire.replica_assignment import ImpossibleAssignment, assign_replicas
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Danger, InvalidArgument, Option
from kwire_admin.operations.partitions import existing_topics, parse_numbers
from kwire_cluster.zookeeper.admin_requests import PartitionReassignment, ReassignPartitions
from kwire_zookeeper_tools.json_files import read_reassignment, read_topics
from kwire_zookeeper_tools.tool_run import ToolRun

PHRASES = {
    ReassignmentState.COMPLETED: "completed successfully",
    ReassignmentState.MOVING: "is still in progress",
    ReassignmentState.FAILED: "failed",
}


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    dangers={"execute": Danger.CHANGES},
    replaces=("kafka.admin.ReassignPartitionsCommand", "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"),
    examples=(
        "--zookeeper localhost:2181 --generate --topics-to-move-json-file topics.json --broker-list 1,2,3",
        "--zookeeper localhost:2181 --execute --reassignment-json-file plan.json",
        "--zookeeper localhost:2181 --verify --reassignment-json-file plan.json",
    ),
)
async def reassign_partitions(
    run: ToolRun,
    generate: Annotated[bool, Option("Propose a reassignment of topics to brokers.")] = False,
    execute: Annotated[bool, Option("Start the reassignment of a file.")] = False,
    verify: Annotated[bool, Option("Print the state of the reassignment of a file.")] = False,
    reassignment_json_file: Annotated[
        Path | None, Option("A file with partitions and their replicas.", "FILE", also=("--path-to-json-file",))
    ] = None,
    topics_to_move_json_file: Annotated[Path | None, Option("A file with topics, for --generate.", "FILE")] = None,
    broker_list: Annotated[str | None, Option("The brokers to move to, for --generate.", "ID,ID,...")] = None,
) -> None:
    """Move partitions to other brokers, with the options and the output of Kafka 0.8.2.

    A reassignment has the form {"partitions": [{"topic": "orders", "partition": 1, "replicas": [1, 2]}], "version": 1}.
    """
    if generate + execute + verify != 1:
        raise InvalidArgument("give exactly one of --generate, --execute, --verify")
    if generate:
        if topics_to_move_json_file is None or broker_list is None:
            raise InvalidArgument("--generate needs --topics-to-move-json-file and --broker-list")
        topics = read_topics(run.file(topics_to_move_json_file))
        await _generate(run, await run.admin(), topics, parse_numbers(broker_list) or ())
        return
    if reassignment_json_file is None:
        raise InvalidArgument("--reassignment-json-file is missing")
    targets: dict[str, dict[int, tuple[int, ...]]] = {}
    for partition, replicas in read_reassignment(run.file(reassignment_json_file)).items():
        targets.setdefault(partition.topic, {})[partition.partition] = replicas
    if execute:
        await _execute(run, await run.admin(), targets)
    else:
        await _verify(run, await run.admin(), targets)


async def _generate(run: ToolRun, admin: AdminClient, topics: list[str], brokers: tuple[int, ...]) -> None:
    described = await existing_topics(admin, topics)
    racks = {broker.id: broker.rack for broker in (await admin.describe_cluster()).brokers}
    unknown = [broker for broker in brokers if broker not in racks]
    if unknown:
        raise InvalidArgument(f"--broker-list: no live broker has the id {unknown[0]}")
    current, proposed = [], []
    for name, topic in described.items():
        factor = len(topic.partitions[0].replicas)
        try:
            assigned = assign_replicas({id: racks[id] for id in brokers}, len(topic.partitions), factor, Random())
        except ImpossibleAssignment as error:
            raise ToolFailed(f"{name}: {error.reason}") from None
        for partition, replicas in zip(topic.partitions, assigned, strict=True):
            current.append(PartitionReassignment(name, partition.partition, partition.replicas))
            proposed.append(PartitionReassignment(name, partition.partition, replicas))
    run.print("Current partition replica assignment\n")
    run.print(ReassignPartitions(tuple(current)).encode().decode())
    run.print("Proposed partition reassignment configuration\n")
    run.print(ReassignPartitions(tuple(proposed)).encode().decode())


async def _execute(run: ToolRun, admin: AdminClient, targets: dict[str, dict[int, tuple[int, ...]]]) -> None:
    described = await existing_topics(admin, list(targets))
    current = tuple(
        PartitionReassignment(name, partition.partition, partition.replicas)
        for name, topic in described.items()
        for partition in topic.partitions  # also partitions that stay, as Kafka 0.8.2 prints them
    )
    run.print("Current partition replica assignment\n")
    run.print(f"{ReassignPartitions(current).encode().decode()}\n")
    run.print("Save this to use as the --reassignment-json-file option during rollback")
    outcomes = await admin.reassign_partitions(targets)
    for item, error in outcomes.errors.items():
        run.print(f"{item}: {error.text}")
    if outcomes.errors:
        raise ToolFailed(f"the reassignment failed for {len(outcomes.errors)} of {len(outcomes)} items")
    started = tuple(
        PartitionReassignment(topic, index, replicas)
        for topic, partitions in targets.items()
        for index, replicas in partitions.items()
    )
    run.print(f"Successfully started reassignment of partitions {ReassignPartitions(started).encode().decode()}")


async def _verify(run: ToolRun, admin: AdminClient, targets: dict[str, dict[int, tuple[int, ...]]]) -> None:
    run.print("Status of partition reassignment:")
    failed = 0
    for status in await admin.list_reassignments(targets):
        if status.error is not None:
            raise status.error
        for index, state in sorted(status.partitions.items()):
            phrase = PHRASES.get(ReassignmentState(state), state)
            run.print(f"Reassignment of partition [{status.topic},{index}] {phrase}")
            failed += state == ReassignmentState.FAILED
    if failed:
        raise ToolFailed(f"{failed} partitions do not have the replicas of the file, and are not being moved")
