"""Moves of replicas between log directories of their brokers, for `kafka-reassign-partitions`."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kwire.client.admin import TopicPartition
from kwire.client.admin.log_dirs import ReplicaDirs
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_admin.compat.script import ScriptFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin import AdminClient
    from kwire_admin.compat.script import ScriptRun

__all__ = ["ANY", "LogDirReplica", "active_moves", "print_states", "start_moves"]

ANY = "any"
"""Stands for any log directory in a file."""
PAUSE = 0.1


class LogDirReplica(NamedTuple):
    """A replica of a partition. Replicas sort as in Kafka's output."""

    broker: int
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


async def start_moves(run: ScriptRun, admin: AdminClient, paths: Mapping[LogDirReplica, str], timeout_ms: int) -> None:
    """Move replicas to log directories. A broker that has not created a replica yet is asked again.

    Args:
        wanted: the path of the log directory of each replica.
        timeout_ms: timeout in milliseconds until the moves have started.

    Raises:
        ScriptFailed: a broker refused a move, or the time was over.
    """
    pending = dict(paths)
    deadline = time.monotonic() + timeout_ms / 1000
    while pending:
        for replica in await _start(admin, pending):
            path = pending.pop(replica)
            run.print(
                f"Successfully started moving log directory to {path} for replica {replica.topic}-{replica.partition} "
                f"with broker {replica.broker} "
            )
        if pending and time.monotonic() >= deadline:
            names, plural = ",".join(map(str, sorted(pending))), "s" if len(pending) > 1 else ""
            raise ScriptFailed(
                f"Timed out before log directory move{plural} could be started for: {names}", on_stdout=True
            )
        if pending:
            await asyncio.sleep(PAUSE)


async def _start(admin: AdminClient, pending: Mapping[LogDirReplica, str]) -> list[LogDirReplica]:
    """Return the replicas for which a move has started."""
    by_broker: dict[int, dict[TopicPartition, str]] = defaultdict(dict)
    for replica, path in pending.items():
        by_broker[replica.broker][TopicPartition(replica.topic, replica.partition)] = path
    started = []
    for broker, paths in sorted(by_broker.items()):
        outcomes = await admin.alter_replica_log_dirs(broker, paths)
        for partition in sorted(paths):
            replica = LogDirReplica(broker, *partition)
            error = outcomes[str(partition)]
            if error is None:
                started.append(replica)
            elif error.code != ErrorCode.REPLICA_NOT_AVAILABLE:
                raise ScriptFailed(f"Error: Failed to alter dir for {replica}", on_stdout=True)
    return started


async def _places(admin: AdminClient, paths: Mapping[LogDirReplica, str]) -> dict[LogDirReplica, ReplicaDirs]:
    live = {broker.id for broker in (await admin.describe_cluster()).brokers}
    places = dict.fromkeys(paths, ReplicaDirs())
    for broker in sorted({replica.broker for replica in paths} & live):
        partitions = [TopicPartition(*replica[1:]) for replica in paths if replica.broker == broker]
        for partition, dirs in (await admin.describe_replica_log_dirs(broker, partitions)).items():
            places[LogDirReplica(broker, *partition)] = dirs
    return places


async def active_moves(admin: AdminClient, paths: Mapping[LogDirReplica, str]) -> dict[LogDirReplica, str]:
    """Return the current log directory of the replicas that are moving."""
    places = await _places(admin, paths)
    return {replica: place.current for replica, place in places.items() if place.future and place.current}


async def print_states(run: ScriptRun, admin: AdminClient, paths: Mapping[LogDirReplica, str]) -> bool:
    """Print the state of moves, and return whether one is in progress."""
    places = await _places(admin, paths)
    lines = [_state(replica, places[replica], target) for replica, target in sorted(paths.items())]
    run.print("\n".join(lines))
    return any(place.future is not None for place in places.values())


def _state(replica: LogDirReplica, place: ReplicaDirs, target: str) -> str:
    partition = f"Partition {replica.topic}-{replica.partition}"
    if place.current is None:
        lost = "There is likely an offline log directory on the broker."
        return f"{partition} is not found in any live log dir on broker {replica.broker}. {lost}"
    if place.future == target:
        return f"Reassignment of replica {replica} is still in progress."
    if place.future is not None:
        moving = f"is being moved to log dir {place.future} instead of {target}."
        return f"{partition} on broker {replica.broker} {moving}"
    if place.current == target:
        return f"Reassignment of replica {replica} completed successfully."
    return f"{partition} on broker {replica.broker} is not being moved from log dir {place.current} to {target}."
