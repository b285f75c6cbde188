"""`kafka quorum describe`."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from kwire._util.light_dataclasses import dataclass, field
from kwire_admin.operations.cluster_health.missing_quorum import unless_no_quorum
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica of the metadata log.

    Attributes:
        node: the id of the controller or broker.
        role: `leader`, `voter`, or `observer`.
        log_end: the end of its log.
        lag: number of records behind the leader.
        caught_up_ms: last time at which it had the whole log, in milliseconds since 1970; None if it is not known.
        directory: the id of its directory; None if it is not reported.
        leader_epoch: the epoch of the leader.
        listeners: the addresses of a voter by name of the listener; None for an observer, or if they are not reported.
    """

    node: int
    role: str
    log_end: int
    lag: int
    caught_up_ms: int | None = field(metadata=column(unit="time"))
    directory: UUID | None
    leader_epoch: int
    listeners: Mapping[str, str] | None = field(metadata=column(table=False))


@operation(dialects=("kafka",), examples=("quorum describe",))
async def describe(run: Run) -> Rows[Replica]:
    """Describe the replicas of the KRaft metadata log."""
    quorum = await unless_no_quorum(run.admin, run.admin.describe_quorum, is_short=True)
    if quorum.leader < 0:
        run.warn("the controller quorum has no leader, so this is what one broker knows of it.")
    end = max((voter.log_end_offset for voter in quorum.voters if voter.id == quorum.leader), default=0)
    replicas = [
        *((("leader" if voter.id == quorum.leader else "voter"), voter) for voter in quorum.voters),
        *(("observer", observer) for observer in quorum.observers),
    ]
    return [
        Replica(
            replica.id,
            role,
            replica.log_end_offset,
            max(end - replica.log_end_offset, 0),
            replica.last_caught_up_ms,
            replica.directory_id,
            quorum.leader_epoch,
            {name: str(endpoint) for name, endpoint in replica.listeners.items()} or None,
        )
        for role, replica in replicas
    ]
