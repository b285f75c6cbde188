"""Total outages: no polled broker responds.

Nothing is known about a cluster while none of its brokers responds, and the cause may be the network of the poller. So
a total outage is one incident of the cluster, not one for each broker. Endpoints that have never responded have no
broker id; they count only while no broker is known. If only one broker of a cluster is polled, its outages stay
outages of that broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.broker_outages import find_failed_polls
from kwire_pipeline.gold.diagnosis.incident import Incident, IncidentKind, Sign
from kwire_pipeline.gold.diagnosis.signal import NO_BROKER, SignalKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_pipeline.gold.diagnosis.broker_outages import FailedPolls
    from kwire_pipeline.gold.diagnosis.signal import Signals

STILL_POLLED = 2 * 3_600_000_000
"""Microseconds for which a broker that has responded counts as polled: two hours, because its first response of every
hour is a signal."""

_CAUSE = "no broker responds: the whole cluster is down, or the poller cannot reach it"
_AWAY_LONGER = "it did not respond for longer than the rest of the cluster"


def find(signals: Signals) -> list[Incident]:
    """Return total outages by time."""
    failed_polls = find_failed_polls(signals)
    responses: dict[int, list[int]] = {}
    for signal in signals.of(SignalKind.FIRST_RESPONSE, SignalKind.POLL_RECOVERED):
        responses.setdefault(signal.broker_id, []).append(signal.at)
    if responses.keys() | failed_polls.keys() != {NO_BROKER}:
        failed_polls.pop(NO_BROKER, None)
        responses.pop(NO_BROKER, None)
        if len(responses.keys() | failed_polls.keys()) < 2:
            return []
    incidents: list[Incident] = []
    for start in sorted({polls.first_failure for spans in failed_polls.values() for polls in spans}):
        if incidents and (incidents[-1].ended_at is None or start <= incidents[-1].ended_at):
            continue
        failing = {broker: polls for broker, spans in failed_polls.items() for polls in spans if polls.covers(start)}
        if not any(_responds(times, start) for broker, times in responses.items() if broker not in failing):
            incident = _incident(start, failing)
            if incident is not None:
                incidents.append(incident)
    return incidents


def _responds(times: list[int], at: int) -> bool:
    """Return whether a broker without failed polls has responded lately."""
    return any(at - STILL_POLLED < time <= at for time in times)


def _incident(start: int, failing: dict[int, FailedPolls]) -> Incident | None:
    """Return the outage that is total at `start`; None if no broker failed to respond more than once."""
    if all(polls.failures == 1 for polls in failing.values()):
        return None
    last_responses = [polls.last_response for polls in failing.values() if polls.last_response is not None]
    began = max(last_responses, default=start)
    incident = Incident(IncidentKind.CLUSTER_UNREACHABLE, _CAUSE, min(began, start), start, Sign.POLL_FAILED)
    incident.add_sign(Sign.POLL_FAILED, start)
    incident.ended_at = min((polls.recovered_at for polls in failing.values() if polls.recovered_at), default=None)
    if incident.ended_at is not None:
        incident.add_sign(Sign.RESPONDS, incident.ended_at)
    if brokers := sorted(failing.keys() - {NO_BROKER}):
        incident.attributes["brokers"] = ", ".join(map(str, brokers))
    kinds = dict.fromkeys(kind for polls in failing.values() for kind in polls.kinds)
    incident.attributes["failures"] = ", ".join(kinds)
    return incident


def without_effects(outages: Iterable[Incident], unreachable: list[Incident], settle: int) -> list[Incident]:
    """Return the outages and returns of brokers that are not part of a total outage.

    A broker that is away longer than the cluster keeps its outage, which the total outage has caused.
    """
    independent: list[Incident] = []
    for incident in outages:
        total = next((outage for outage in unreachable if _is_part(incident, outage, settle)), None)
        if total is None:
            independent.append(incident)
        elif incident.first_sign != Sign.RESPONDS and not _ends_with(incident, total, settle):
            # Nothing was observed that could distinguish a kill from a shutdown.
            incident.kind, incident.cause = IncidentKind.BROKER_LOST, _AWAY_LONGER
            incident.caused_by = total
            independent.append(incident)
    return independent


def _is_part(incident: Incident, total: Incident, settle: int) -> bool:
    """Return whether a broker's outage began, or its return came, together with the total outage or its end."""
    if Sign.POLL_FAILED in incident.seen_at:
        at = incident.seen_at[Sign.POLL_FAILED]
        return total.first_sign_at - settle <= at <= (total.ended_at or at)
    ended = total.ended_at
    return ended is not None and abs(incident.first_sign_at - ended) <= settle


def _ends_with(incident: Incident, total: Incident, settle: int) -> bool:
    if total.ended_at is None:
        return True
    return incident.ended_at is not None and incident.ended_at <= total.ended_at + settle
