"""`kafka-metadata-quorum`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kwire.compat.options import ScriptOption, UsageError
from kwire.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script
from kwire.verbs.rows import topic_id_text

if TYPE_CHECKING:
    from kwire.client.admin import QuorumDescription, QuorumReplica
    from kwire.compat.script import ScriptRun

ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
"""Stands for a directory without an id."""
HEADER = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


async def run(run: ScriptRun) -> None:
    """Describe the quorum of KRaft controllers.

    Raises:
        UsageError: the arguments do not fit together.
    """
    values = run.values
    if values.words != ["describe"]:
        raise UsageError("expected describe, which is the only command of this script that is supported")
    if ("status" in values) == ("replication" in values):
        raise UsageError("expected either --status or --replication")
    admin = await run.admin()
    quorum = await admin.describe_quorum()
    if "status" in values:
        cluster = await admin.describe_cluster()
        _print_status(run, quorum, cluster.cluster_id or "")
    else:
        _print_replication(run, quorum, human="human-readable" in values)


def _print_status(run: ScriptRun, quorum: QuorumDescription, cluster_id: str) -> None:
    leader = next((each for each in quorum.voters if each.id == quorum.leader), None)
    end = leader.log_end_offset if leader is not None else 0
    slowest = max(quorum.voters, key=lambda each: end - each.log_end_offset)
    behind = 0
    if leader is not None and slowest.id != quorum.leader and slowest.last_caught_up_ms is not None:
        behind = (leader.last_caught_up_ms or int(time.time() * 1000)) - slowest.last_caught_up_ms
    for title, value in (
        ("ClusterId:", cluster_id),
        ("LeaderId:", quorum.leader),
        ("LeaderEpoch:", quorum.leader_epoch),
        ("HighWatermark:", quorum.high_watermark),
        ("MaxFollowerLag:", end - min(each.log_end_offset for each in quorum.voters)),
        ("MaxFollowerLagTimeMs:", behind),
        ("CurrentVoters:", _nodes(quorum.voters)),
        ("CurrentObservers:", _nodes(quorum.observers)),
    ):
        run.print(f"{title:<24}{value}")


def _nodes(replicas: tuple[QuorumReplica, ...]) -> str:
    import json

    nodes = []
    for each in replicas:
        node: dict[str, object] = {"id": each.id, "directoryId": _directory(each)}
        if each.listeners:
            node["endpoints"] = [f"{name}://{endpoint}" for name, endpoint in each.listeners.items()]
        nodes.append(json.dumps(node))
    return f"[{', '.join(nodes)}]"


def _print_replication(run: ScriptRun, quorum: QuorumDescription, *, human: bool) -> None:
    end = next((each.log_end_offset for each in quorum.voters if each.id == quorum.leader), 0)
    rows: list[tuple[object, ...]] = [HEADER]
    for status, replicas in (("Follower", quorum.voters), ("Observer", quorum.observers)):
        rows += (
            (
                each.id,
                _directory(each) or ZERO,
                each.log_end_offset,
                end - each.log_end_offset,
                _when(each.last_fetch_ms, human=human),
                _when(each.last_caught_up_ms, human=human),
                "Leader" if each.id == quorum.leader else status,
            )
            for each in replicas
        )
    rows.sort(key=lambda row: ("Status", "Leader", "Follower", "Observer").index(str(row[-1])))
    widths = [max(len(str(row[index])) for row in rows) for index in range(len(HEADER))]
    for row in rows:
        run.print("\t".join(f"{value!s:<{width}}" for value, width in zip(row, widths, strict=True)) + "\t")


def _directory(replica: QuorumReplica) -> str | None:
    return None if replica.directory_id is None else topic_id_text(replica.directory_id)


def _when(milliseconds: int | None, *, human: bool) -> str:
    if milliseconds is None:
        return "-1"
    return f"{int(time.time() * 1000) - milliseconds} ms ago" if human else str(milliseconds)


metadata_quorum = Script(
    "kafka-metadata-quorum",
    ("org.apache.kafka.tools.MetadataQuorumCommand", "kafka.admin.MetadataQuorumCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("status", "A short summary of the quorum status."),
        ScriptOption("replication", "Detailed information about the status of replication."),
        ScriptOption("human-readable", "Print human-readable timestamps."),
    ),
    run,
    "",
    fails_on_stdout=False,
)
