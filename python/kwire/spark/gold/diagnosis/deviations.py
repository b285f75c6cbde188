"""Configs that deviate from the desired ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire.spark.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from kwire.spark.gold.diagnosis.signal import Signals

_CAUSE = "configs differ from the desired ones"


def find(signals: Signals) -> list[Incident]:
    """Return deviations, one for a resource, from the first config that deviates until none does."""
    found: list[Incident] = []
    open_incidents: dict[str, Incident] = {}
    deviating: dict[str, set[str]] = {}
    for signal in signals.of(SignalKind.CONFIG_CONFORMS, SignalKind.CONFIG_DEVIATED):
        kind, name, key = (signal.detail.get(each, "") for each in ("resource_type", "resource", "key"))
        resource = f"{kind}/{name or 'default'}"
        incident = open_incidents.get(resource)
        if signal.kind == SignalKind.CONFIG_DEVIATED:
            if incident is None:
                incident = Incident(IncidentKind.CONFIG_DRIFTED, _CAUSE, signal.at, signal.at, Sign.CONFIGS)
                incident.subject = incident.attributes["resource"] = resource
                incident.add_sign(Sign.CONFIGS, signal.at)
                if kind == "topic":
                    incident.topics.add(name)
                open_incidents[resource] = incident
                found.append(incident)
            deviating.setdefault(resource, set()).add(key)
            value, desired = (signal.detail.get(each, "(unset)") for each in ("value", "desired_value"))
            incident.attributes[key] = f"{value}, desired {desired}"
        elif incident is not None:
            deviating[resource].discard(key)
            if not deviating[resource]:
                incident.ended_at = signal.at
                del open_incidents[resource]
    return found
