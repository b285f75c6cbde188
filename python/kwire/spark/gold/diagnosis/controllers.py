"""The controller went to another broker (clusters on ZooKeeper).

Under KRaft the controller id of an answer is any broker that lives, another each time, and means nothing; whoever makes
the signals leaves those clusters out. Brokers without a controller (-1) are on their way to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident

if TYPE_CHECKING:
    from kwire.spark.gold.diagnosis.signal import Signals

MOVED = "controller_moved"


def find(signals: Signals) -> list[Incident]:
    """Changes of the controller, by time."""
    found: list[Incident] = []
    believed: int | None = None
    for signal in signals.of("controller"):
        new, old = signal.broker, signal.other
        if believed is None:
            believed = old
        if found and signal.at - found[-1].first_sign_at <= signals.settle:
            found[-1].ended_at = max(found[-1].ended_at or 0, signal.at)
        # A broker that slept goes from an older controller to the present one: no news.
        if new == believed:
            continue
        began = signal.not_before if signal.not_before is not None else signal.at
        incident = Incident(
            MOVED, f"the controller went from broker {believed} to {new}", began, signal.at, "controller"
        )
        incident.broker_id = new
        incident.ended_at = signal.at
        incident.sign("controller", signal.at)
        incident.attributes |= {"from": str(believed), "to": str(new)}
        believed = new
        found.append(incident)
    return found
