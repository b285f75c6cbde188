"""The tool `preferred-replica-leader-election`."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated

from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Danger, Option
from kwire_admin.operations.partitions import existing_partitions
from kwire_zookeeper_tools.json_files import read_partitions
from kwire_zookeeper_tools.tool_run import ToolRun


@operation(
    Danger.CHANGES,
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    replaces="kafka.admin.PreferredReplicaLeaderElectionCommand",
    examples=("--zookeeper localhost:2181", "--zookeeper localhost:2181 --path-to-json-file partitions.json"),
)
async def preferred_replica_leader_election(
    run: ToolRun,
    path_to_json_file: Annotated[Path | None, Option("A file with the partitions [default: all].", "FILE")] = None,
) -> None:
    """Elect the preferred leaders of partitions: their first replicas.

    The file has the form {"partitions": [{"topic": "orders", "partition": 1}]}.
    """
    chosen = None if path_to_json_file is None else read_partitions(run.file(path_to_json_file))
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic_partition in chosen or ():
        by_topic[topic_partition.topic].append(topic_partition.partition)
    admin = await run.admin()
    outcomes = await admin.elect_leaders(by_topic if chosen is not None else None)
    for item, error in sorted(outcomes.errors.items()):
        run.print(f"{item}: {error.text}")
    if not outcomes.errors:
        partitions = chosen if chosen is not None else await existing_partitions(admin)
        names = ", ".join(f"[{partition.topic},{partition.partition}]" for partition in partitions)
        run.print(f"Successfully started preferred replica election for partitions Set({names})")
    if outcomes.errors:
        raise ToolFailed(f"the election failed for {len(outcomes.errors)} of {len(outcomes)} items")
