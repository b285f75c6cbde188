"""Log directories that are offline, and volumes that are almost full."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire.spark.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire.spark.gold.diagnosis.signal import SignalKind

if TYPE_CHECKING:
    from kwire.spark.gold.diagnosis.signal import Signals


class _Rule(NamedTuple):
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


def find(signals: Signals) -> list[Incident]:
    """Return the incidents of log directories, one for each directory and cause."""
    return [incident for rule in _RULES for incident in _incidents(signals, rule)]


def _incidents(signals: Signals, rule: _Rule) -> list[Incident]:
    found: list[Incident] = []
    open_incidents: dict[tuple[int, str], Incident] = {}
    for signal in signals.of(rule.begins, rule.ends):
        key = signal.broker_id, signal.detail["log_dir"]
        if signal.kind == rule.ends:
            if key in open_incidents:
                open_incidents.pop(key).ended_at = signal.at
        elif key not in open_incidents:
            incident = Incident(rule.kind, rule.cause, signal.earliest, signal.at, Sign.LOG_DIR, signal.broker_id)
            incident.subject = signal.detail["log_dir"]
            incident.add_sign(Sign.LOG_DIR, signal.at)
            incident.attributes.update(signal.detail)
            open_incidents[key] = incident
            found.append(incident)
    return found
