"""The summary of the signals before an hour, with which later diagnoses continue.

An incident that has not ended may get its end from a later signal. If signals were kept for as long as it lasts, a new
hour would cost more with each hour of its age. So a diagnosis continues from a *cut*, an hour, and reads:

1. the signals since the cut, and
2. the summary of the signals before it: signals that give the same incidents, but few of them.

| incident that lasts across the cut | its signals in the summary |
|---|---|
| `replica_lagging` | one, with all partitions so far, and the number of replicas out of sync |
| conditions | the signals about the subject since the first sign, which no other rule reads |
| any other one | none: the cut is before its beginning (`cut`) |

Outages and moves are not summarized, because their rules read signals about other brokers, from before and after. For
the rules of outages, the summary has the number of replicas out of sync by broker; and for the settling time, the
longest interval of polls.

Signals of lagging replicas may be explained later, by an outage whose first signs come before its failed polls. So the
cut is `MARGIN` before the end of the signals, which is longer than any rule looks back from an outage.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.gold.diagnosis import conditions, movements
from kwire_pipeline.gold.diagnosis.broker_outages import out_of_sync_levels
from kwire_pipeline.gold.diagnosis.signal import Signal, SignalKind

if TYPE_CHECKING:
    from kwire_pipeline.gold.diagnosis import Diagnosis, Incident, Signals

HOUR = 3_600_000_000
MARGIN = HOUR
"""Microseconds between the cut and the end of the signals while an incident lasts: above `LONGEST_SHUTDOWN`."""

CONTINUED = 300_000_000
"""Microseconds after the end of an incident in which it counts as lasting, since it may continue. Chosen, not
measured."""


class Summarized(NamedTuple):
    """A signal of a summary; `incident` is the incident that it continues, if it continues one."""

    signal: Signal
    incident: Incident | None = None


def cut(diagnosis: Diagnosis, end: int, earliest: int) -> int:
    """Return the hour from which later diagnoses continue; all in microseconds.

    Args:
        diagnosis: the present diagnosis.
        end: the hour at which the signals end.
        earliest: the cut from which the present diagnosis has continued.
    """

    def lasting(at: int) -> list[Incident]:
        return [
            incident
            for incident in diagnosis.incidents
            if incident.began_at < at and (incident.ended_at is None or incident.ended_at >= at - CONTINUED)
        ]

    # Replicas that lag for less than the settling time do not have an incident yet.
    if not lasting(end) and not _continued(diagnosis, end):
        return end
    at = end - MARGIN
    while at > earliest:
        # An incident without a summary moves the cut to the hour of its beginning, where another one may last.
        summarized = {_identity(item.incident) for item in _continued(diagnosis, at) if item.incident}
        whole = [incident.began_at for incident in lasting(at) if _identity(incident) not in summarized]
        if not whole:
            return at
        at = min(whole) // HOUR * HOUR
    return earliest


def summarize(diagnosis: Diagnosis, at: int) -> list[Summarized]:
    """Return the summary of the signals before a cut, which has at least the time of the last poll."""
    summary = _continued(diagnosis, at)
    before = _before(diagnosis.signals, at)
    detail = {"end": str(before.end)}
    if summary:
        summary += map(Summarized, _levels(before))
        if before.interval:
            detail["interval_us"] = str(before.interval)
    return [*summary, Summarized(Signal(SignalKind.POLL_INTERVAL, 0, None, detail=detail))]


def _before(signals: Signals, at: int) -> Signals:
    return replace(signals, all=[signal for signal in signals.all if signal.filed_at < at])


def _identity(incident: Incident) -> tuple[object, ...]:
    return (incident.kind, incident.broker_id, incident.subject, incident.first_sign_at)


def _continued(diagnosis: Diagnosis, at: int) -> list[Summarized]:
    """Return the signals before an hour that stand for the incidents that last there."""
    before = _before(diagnosis.signals, at)
    found = [
        *conditions.stalled_groups(before),
        *conditions.deviating_configs(before),
        *conditions.faulty_log_dirs(before),
    ]
    return [
        *(Summarized(signal, incident) for incident, signal in movements.lags_at_end(before, diagnosis.explaining)),
        *(
            Summarized(signal, incident)
            for incident in found
            if incident.ended_at is None
            for signal in conditions.signals_of(incident, before)
        ),
    ]


def _levels(before: Signals) -> list[Signal]:
    """Return signals that give the number of replicas out of sync of each broker.

    They are before all times, so no outage counts them as its own.
    """
    summed = []
    for broker_id in sorted({signal.broker_id for signal in before.of(*_LEVELS)}):
        levels = out_of_sync_levels([signal for signal in before.all if signal.broker_id == broker_id])
        if level := levels[-1][1]:
            kind = SignalKind.OUT_OF_SYNC if level > 0 else SignalKind.BACK_IN_SYNC
            summed.append(Signal(kind, 0, None, broker_id=broker_id, partitions=abs(level)))
    return summed


_LEVELS = (SignalKind.OUT_OF_SYNC, SignalKind.BACK_IN_SYNC)
