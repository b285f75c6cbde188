"""`kafka-preferred-replica-election --zookeeper`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.compat.script import ZOOKEEPER, Script, ScriptFailed
from kwire_admin.compat.scripts.leader_election import PATH, by_topic, read_partitions
from kwire_admin.operations.partitions import existing_partitions
from kwire_cluster.zookeeper.admin_requests import ListedPartition, PreferredReplicaElection
from kwire_zookeeper_tools.with_zookeeper import tool_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_admin.compat.script import ScriptRun
    from kwire_admin.compat.scripts.leader_election import Partition

FAILURE = "Failed to start preferred replica election"
MISSING = "No such file or directory"


async def run(run: ScriptRun) -> None:
    """Elect preferred leaders.

    Raises:
        ScriptFailed: the file is invalid, or an election failed.
    """
    run.values.need("zookeeper")
    admin = await tool_run(run).admin()
    existing: list[Partition] = [*await existing_partitions(admin)]
    path = run.values.get("path-to-json-file")
    try:
        chosen = existing if path is None else read_partitions(path)
    except ScriptFailed as error:
        if str(error).endswith(MISSING):  # Kafka's script prints a trace, which begins with this line
            missing = f"java.io.FileNotFoundException: {path} ({MISSING})"
            raise ScriptFailed(f"{FAILURE}\n{missing}", on_stdout=True) from None
        run.warn(str(error))
        raise ScriptFailed(FAILURE, on_stdout=True) from None
    valid = [partition for partition in chosen if partition in existing]
    # The script only starts elections, so it does not say that a preferred replica cannot lead.
    errors = {
        item: error
        for item, error in (await admin.elect_leaders(by_topic(valid))).errors.items()
        if error.code != ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    }
    if errors:
        raise ScriptFailed("\n".join([FAILURE, *(f"{item}: {error.text}" for item, error in errors.items())]))
    # Before 0.10, Kafka printed all given partitions, the missing ones as well.
    if run.is_before("0.10.0.0"):
        run.print(f"Successfully started preferred replica election for partitions {_set(chosen)}")
        return
    document = PreferredReplicaElection(tuple(ListedPartition(*partition) for partition in valid)).encode().decode()
    run.print(f"Created preferred replica election path with {document}")
    run.print(f"Successfully started preferred replica election for partitions {_set(valid)}")
    for partition in chosen:
        if partition not in valid:
            run.print(
                "Skipping preferred replica leader election for partition "
                f"[{partition[0]},{partition[1]}] since it doesn't exist."
            )


def _set(partitions: Iterable[tuple[str, int]]) -> str:
    """Return partitions as Scala prints a small set of them."""
    return f"Set({', '.join(f'[{topic},{index}]' for topic, index in partitions)})"


script = Script(
    "kafka-preferred-replica-election",
    ("kafka.admin.PreferredReplicaLeaderElectionCommand",),
    (
        ZOOKEEPER,
        PATH,
    ),
    run,
    f"{FAILURE}\n",
    banner=(
        "This tool causes leadership for each partition to be transferred back to the 'preferred replica', it can be "
        "used to balance leadership among the servers."
    ),
    codes=dict.fromkeys(("0.8.2.2", "0.9.0.1", "0.10.2.2"), 0),
)
