"""Lasting conditions of a subject: stalled consumer groups, configs that deviate, and faulty log directories.

Each incident has one subject. It begins with the first part that is affected (a partition of a group, a config of a
resource) and ends when none is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from collections.abc import Iterable

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


class _Conditions:
    """The incidents of subjects, each from the first affected part (a partition, a config) until none is affected."""

    def __init__(self) -> None:
        self.incidents: list[Incident] = []
        self._lasting: dict[object, tuple[Incident, set[object]]] = {}

    def begin(self, subject: object, parts: Iterable[object], incident: Incident) -> Incident:
        """Add affected parts, and return the incident of the subject, `incident` unless an earlier one lasts."""
        if subject not in self._lasting:
            self._lasting[subject] = incident, set()
            self.incidents.append(incident)
        lasting, affected = self._lasting[subject]
        affected.update(parts)
        return lasting

    def end(self, subject: object, parts: Iterable[object], at: int) -> None:
        """Remove affected parts; without any, the incident of the subject ends."""
        if subject in self._lasting:
            incident, affected = self._lasting[subject]
            affected.difference_update(parts)
            if not affected:
                incident.ended_at = at
                del self._lasting[subject]


def stalled_groups(signals: Signals) -> list[Incident]:
    """Return stalls by time: one for a group, from the first stalled partition until none is."""
    conditions = _Conditions()
    for signal in signals.of(SignalKind.GROUP_STALLED, SignalKind.GROUP_CONTINUED):
        group = _subject(signal)
        if signal.kind == SignalKind.GROUP_CONTINUED:
            conditions.end(group, signal.partition_hashes, signal.at)
            continue
        cause = _STALL_CAUSES[signal.detail.get("state") in {"Empty", "Dead"}]
        stalled = Incident.of(IncidentKind.GROUP_STALLED, cause, signal, Sign.COMMITS)
        incident = conditions.begin(group, signal.partition_hashes, stalled)
        incident.subject = incident.attributes["group"] = group
        incident.topics.update(signal.topics)
        incident.partitions.add(signal)
    return conditions.incidents


_DEVIATION = "configs differ from the desired ones"


def deviating_configs(signals: Signals) -> list[Incident]:
    """Return deviations, one for a resource, from the first config that deviates until none does."""
    conditions = _Conditions()
    for signal in signals.of(SignalKind.CONFIG_CONFORMS, SignalKind.CONFIG_DEVIATED):
        resource, key = _subject(signal), signal.detail.get("key", "")
        if signal.kind == SignalKind.CONFIG_CONFORMS:
            conditions.end(resource, [key], signal.at)
            continue
        drifted = Incident.of(IncidentKind.CONFIG_DRIFTED, _DEVIATION, signal, Sign.CONFIGS)
        incident = conditions.begin(resource, [key], drifted)
        incident.subject = incident.attributes["resource"] = resource
        if signal.detail.get("resource_type") == "topic":
            incident.topics.add(signal.detail.get("resource", ""))
        value, desired = (signal.detail.get(field, "(unset)") for field in ("value", "desired_value"))
        incident.attributes[key] = f"{value}, desired {desired}"
    return conditions.incidents


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
    conditions = _Conditions()
    for signal in signals.of(rule.begins, rule.ends):
        log_dir = _subject(signal)
        subject = signal.broker_id, log_dir
        if signal.kind == rule.ends:
            conditions.end(subject, [log_dir], signal.at)
            continue
        incident = Incident.of(rule.kind, rule.cause, signal, Sign.LOG_DIR, signal.broker_id)
        incident.subject = log_dir
        incident.attributes.update(signal.detail)
        conditions.begin(subject, [log_dir], incident)
    return conditions.incidents


_KINDS = {
    IncidentKind.GROUP_STALLED: (SignalKind.GROUP_STALLED, SignalKind.GROUP_CONTINUED),
    IncidentKind.CONFIG_DRIFTED: (SignalKind.CONFIG_CONFORMS, SignalKind.CONFIG_DEVIATED),
    **{rule.kind: (rule.begins, rule.ends) for rule in _RULES},
}
"""The signals of each condition. No other rule reads them."""
