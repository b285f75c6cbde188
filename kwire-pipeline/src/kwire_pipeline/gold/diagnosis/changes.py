"""Changes of the controller and of configs.

*Controller.* Under KRaft the controller id of a response is a random live broker, so only clusters on ZooKeeper have
these signals. Brokers without a controller (-1) are between two controllers.

*Configs.* Changes that one response reports first belong to one incident; what the next response adds happened later.
The configs of a new topic belong to its creation, and a changed default shows at every topic without an override:
neither is a change of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from kwire_pipeline.gold.diagnosis.signal import Signal, Signals

THROTTLE = ".replication.throttled."
THROTTLED = "a replication throttle was set or removed"

_CAUSES = {
    "topic": "configs of topics were changed",
    "broker": "configs of a broker were changed",
    "cluster": "the default configs of the cluster were changed",
    "throttle": THROTTLED,
}


def config_changes(signals: Signals) -> list[Incident]:
    """Return changes of configs by time, one for what was first reported together."""
    incidents: list[Incident] = []
    latest: dict[tuple[str, str], Incident] = {}
    for signal in signals.of(SignalKind.CONFIG_CHANGED):
        scope = signal.detail["scope"]
        key = signal.detail["key"]
        group = ("throttle" if THROTTLE in key else scope, signal.detail["resource"] if scope == "broker" else "")
        incident = latest.get(group)
        if incident is None or signal.at != incident.first_sign_at:
            incident = Incident.of(IncidentKind.CONFIG_CHANGED, _CAUSES[group[0]], signal, Sign.CONFIGS)
            incident.attributes["scope"] = scope
            if scope == "broker":
                incident.broker_id = int(signal.detail["resource"])
            latest[group] = incident
            incidents.append(incident)
        incident.ended_at = signal.at
        if scope == "topic":
            incident.topics.add(signal.detail["resource"])
        name = f"{signal.detail['resource']}: {key}" if scope == "topic" else key
        incident.attributes[name] = f"{_shown(signal, 'old_value')} -> {_shown(signal, 'value')}"
    return incidents


def _shown(signal: Signal, side: str) -> str:
    return signal.detail.get(side, "(unset)")


def controller_moves(signals: Signals) -> list[Incident]:
    """Return changes of the controller by time."""
    incidents: list[Incident] = []
    controller: int | None = None
    for signal in signals.of(SignalKind.CONTROLLER_CHANGED):
        new, old = signal.broker_id, signal.other_broker_id
        if controller is None:
            controller = old
        if incidents and signal.at - incidents[-1].first_sign_at <= signals.settle:
            incidents[-1].ended_at = max(incidents[-1].ended_at or 0, signal.at)
        # A broker that was paused changes from an older controller to the current one: this is not a new change.
        if new == controller:
            continue
        cause = f"the controller moved from broker {controller} to {new}"
        incident = Incident.of(IncidentKind.CONTROLLER_MOVED, cause, signal, Sign.CONTROLLER, new)
        incident.ended_at = signal.at
        incident.attributes |= {"from": str(controller), "to": str(new)}
        controller = new
        incidents.append(incident)
    return incidents
