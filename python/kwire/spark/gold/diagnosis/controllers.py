"""Controller changes, in clusters on ZooKeeper.

Under KRaft the controller id of a response is a random live broker, so those clusters have no such signals. Brokers
without a controller (-1) are between two controllers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire.spark.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from kwire.spark.gold.diagnosis.signal import Signals


def find(signals: Signals) -> list[Incident]:
    """Return changes of the controller by time."""
    found: list[Incident] = []
    controller: int | None = None
    for signal in signals.of(SignalKind.CONTROLLER_CHANGED):
        new, old = signal.broker_id, signal.other_broker_id
        if controller is None:
            controller = old
        if found and signal.at - found[-1].first_sign_at <= signals.settle:
            found[-1].ended_at = max(found[-1].ended_at or 0, signal.at)
        # A broker that was paused changes from an older controller to the current one: this is not a new change.
        if new == controller:
            continue
        cause = f"the controller moved from broker {controller} to {new}"
        incident = Incident(
            IncidentKind.CONTROLLER_MOVED, cause, signal.earliest, signal.at, Sign.CONTROLLER, broker_id=new
        )
        incident.ended_at = signal.at
        incident.add_sign(Sign.CONTROLLER, signal.at)
        incident.attributes |= {"from": str(controller), "to": str(new)}
        controller = new
        found.append(incident)
    return found
