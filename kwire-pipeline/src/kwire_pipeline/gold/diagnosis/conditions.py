"""Lasting conditions of a subject: stalled consumer groups, configs that deviate, and faulty log directories.

Each incident has one subject. It begins with the first part that is affected (a partition of a group, a config of a
resource) and ends when none is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from kwire_pipeline.gold.diagnosis.signal import Signal, Signals

_STALL_CAUSES = {
    True: "the group has no members, and its topics grow",
    False: "the group has not committed offsets while its topics grew",
}


def signals_of(incident: Incident, signals: Signals) -> list[Signal]:
    """Return the signals about the subject of a condition since its first sign."""
    return [
        signal
        for signal in signals.of(*_KINDS[incident.kind])
        if signal.at >= incident.first_sign_at
        and _subject(signal) == incident.subject
        and incident.broker_id in {None, signal.broker_id}
    ]


def _subject(signal: Signal) -> str:
    """Return the group, the resource, or the log directory."""
    for name in ("group", "log_dir"):
        if name in signal.detail:
            return signal.detail[name]
    return f"{signal.detail.get('resource_type', '')}/{signal.detail.get('resource') or 'default'}"


def stalled_groups(signals: Signals) -> list[Incident]:
    """Return stalls by time: one for a group, from the first stalled partition until none is."""
    incidents: list[Incident] = []
    open_incidents: dict[str, Incident] = {}
    stalled: dict[str, set[int]] = {}
    for signal in signals.of(SignalKind.GROUP_STALLED, SignalKind.GROUP_CONTINUED):
        group = _subject(signal)
        incident = open_incidents.get(group)
        if signal.kind == SignalKind.GROUP_STALLED:
            if incident is None:
                cause = _STALL_CAUSES[signal.detail.get("state") in {"Empty", "Dead"}]
                incident = Incident(IncidentKind.GROUP_STALLED, cause, signal.earliest, signal.at, Sign.COMMITS)
                incident.subject = incident.attributes["group"] = group
                open_incidents[group] = incident
                incidents.append(incident)
            incident.add_sign(Sign.COMMITS, signal.at)
            incident.topics.update(signal.topics)
            incident.partitions.add(signal)
            stalled.setdefault(group, set()).update(signal.partition_hashes)
        elif incident is not None:
            stalled[group].difference_update(signal.partition_hashes)
            if not stalled[group]:
                incident.ended_at = signal.at
                del open_incidents[group]
    return incidents


_DEVIATION = "configs differ from the desired ones"


def deviating_configs(signals: Signals) -> list[Incident]:
    """Return deviations, one for a resource, from the first config that deviates until none does."""
    incidents: list[Incident] = []
    open_incidents: dict[str, Incident] = {}
    deviating: dict[str, set[str]] = {}
    # An incident lasts while any config of its resource deviates.
    for signal in signals.of(SignalKind.CONFIG_CONFORMS, SignalKind.CONFIG_DEVIATED):
        kind, name, key = (signal.detail.get(field, "") for field in ("resource_type", "resource", "key"))
        resource = _subject(signal)
        incident = open_incidents.get(resource)
        if signal.kind == SignalKind.CONFIG_DEVIATED:
            if incident is None:
                incident = Incident(IncidentKind.CONFIG_DRIFTED, _DEVIATION, signal.at, signal.at, Sign.CONFIGS)
                incident.subject = incident.attributes["resource"] = resource
                incident.add_sign(Sign.CONFIGS, signal.at)
                if kind == "topic":
                    incident.topics.add(name)
                open_incidents[resource] = incident
                incidents.append(incident)
            deviating.setdefault(resource, set()).add(key)
            value, desired = (signal.detail.get(field, "(unset)") for field in ("value", "desired_value"))
            incident.attributes[key] = f"{value}, desired {desired}"
        elif incident is not None:
            deviating[resource].discard(key)
            if not deviating[resource]:
                incident.ended_at = signal.at
                del open_incidents[resource]
    return incidents


class _Rule(NamedTuple):
    """The signals with which a fault of a log directory begins and ends."""

    begins: SignalKind
    ends: SignalKind
    kind: IncidentKind
    cause: str


_RULES = (
    _Rule(
        SignalKind.LOG_DIR_OFFLINE,
        SignalKind.LOG_DIR_ONLINE,
        IncidentKind.LOG_DIR_OFFLINE,
        "the broker cannot use a log directory: its replicas there are offline",
    ),
    _Rule(
        SignalKind.DISK_FULL,
        SignalKind.DISK_FREE,
        IncidentKind.DISK_ALMOST_FULL,
        "less than 5 % of the volume of a log directory is usable",
    ),
)


def faulty_log_dirs(signals: Signals) -> list[Incident]:
    """Return the incidents of log directories, one for each directory and cause."""
    return [incident for rule in _RULES for incident in _log_dir_incidents(signals, rule)]


def _log_dir_incidents(signals: Signals, rule: _Rule) -> list[Incident]:
    incidents: list[Incident] = []
    open_incidents: dict[tuple[int, str], Incident] = {}
    for signal in signals.of(rule.begins, rule.ends):
        key = signal.broker_id, _subject(signal)
        if signal.kind == rule.ends:
            if key in open_incidents:
                open_incidents.pop(key).ended_at = signal.at
        elif key not in open_incidents:
            incident = Incident(rule.kind, rule.cause, signal.earliest, signal.at, Sign.LOG_DIR, signal.broker_id)
            incident.subject = _subject(signal)
            incident.add_sign(Sign.LOG_DIR, signal.at)
            incident.attributes.update(signal.detail)
            open_incidents[key] = incident
            incidents.append(incident)
    return incidents


_KINDS = {
    IncidentKind.GROUP_STALLED: (SignalKind.GROUP_STALLED, SignalKind.GROUP_CONTINUED),
    IncidentKind.CONFIG_DRIFTED: (SignalKind.CONFIG_CONFORMS, SignalKind.CONFIG_DEVIATED),
    **{rule.kind: (rule.begins, rule.ends) for rule in _RULES},
}
"""The signals of each condition. No other rule reads them."""
