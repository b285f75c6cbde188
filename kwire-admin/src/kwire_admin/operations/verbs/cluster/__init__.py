"""`kafka cluster`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class ClusterBroker:
    """A live broker.

    Attributes:
        controller: true if it is the active controller; None if no broker names it.
    """

    broker: int
    host: str
    port: int
    rack: str | None
    controller: bool | None


@dataclass(frozen=True, slots=True)
class ClusterDetails:
    """A cluster with its live brokers.

    Attributes:
        controller: the id of the active controller, under KRaft the leader of the quorum; None if no broker names it.
    """

    cluster_id: str | None = field(metadata=column(table=False))
    dialect: str = field(metadata=column(table=False))
    controller: int | None = field(metadata=column(table=False))
    brokers: tuple[ClusterBroker, ...] = field(metadata=column(rows=True))


@operation(examples=("cluster describe", "cluster describe --output json"))
async def describe(run: Run) -> Rows[ClusterDetails]:
    """Describe the live brokers and the controller."""
    cluster = await run.admin.describe_cluster()
    controller = await run.admin.active_controller()
    brokers = tuple(
        ClusterBroker(*broker, None if controller is None else broker.id == controller)
        for broker in sorted(cluster.brokers, key=lambda broker: broker.id)
    )
    return [ClusterDetails(cluster.cluster_id, run.admin.dialect, controller, brokers)]
