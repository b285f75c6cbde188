"""Stalled consumer groups: the log grows, and the committed offset does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire.spark.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from kwire.spark.gold.diagnosis.signal import Signals

_CAUSES = {
    True: "the group has no members, and its topics grow",
    False: "the group has not committed offsets while its topics grew",
}


def find(signals: Signals) -> list[Incident]:
    """Return stalls by time: one for a group, from the first stalled partition until none is."""
    found: list[Incident] = []
    open_incidents: dict[str, Incident] = {}
    stalled: dict[str, set[int]] = {}
    for signal in signals.of(SignalKind.GROUP_STALLED, SignalKind.GROUP_CONTINUED):
        group = signal.detail["group"]
        incident = open_incidents.get(group)
        if signal.kind == SignalKind.GROUP_STALLED:
            if incident is None:
                cause = _CAUSES[signal.detail.get("state") in {"Empty", "Dead"}]
                incident = Incident(IncidentKind.GROUP_STALLED, cause, signal.earliest, signal.at, Sign.COMMITS)
                incident.subject = incident.attributes["group"] = group
                open_incidents[group] = incident
                found.append(incident)
            incident.add_sign(Sign.COMMITS, signal.at)
            incident.topics.update(signal.topics)
            incident.partitions.add(signal)
            stalled.setdefault(group, set()).update(signal.partition_hashes)
        elif incident is not None:
            stalled[group].difference_update(signal.partition_hashes)
            if not stalled[group]:
                incident.ended_at = signal.at
                del open_incidents[group]
    return found
