"""The current state of a cluster in one sentence, which is the headline of its page.

"Now" is the last poll. Lasting outages come before their consequences; problems that no incident explains are reported
as counts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kwire_pipeline.report.phrasing import (
    OUTAGES,
    IncidentGroup,
    format_duration,
    format_number,
    format_percent,
    format_time,
    incident_group,
    incident_title,
    lower_first,
    pluralize,
    upper_first,
)

if TYPE_CHECKING:
    from kwire_pipeline.report.cluster_history import BrokerHistory, ClusterHistory, ReportedIncident

UNFAIR_SHARE = 1.5
"""Mention a broker if it leads this many times its fair share of partitions, or less than the inverse."""

NAMED_OUTAGES = 3
NAMED_BROKERS = 5


class SummaryLevel(StrEnum):
    """The urgency of a cluster's state."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"


class ClusterSummary(NamedTuple):
    """The state of a cluster: its level, a headline of one sentence, and further sentences."""

    level: SummaryLevel
    headline: str
    details: tuple[str, ...]


def summarize(history: ClusterHistory) -> ClusterSummary:
    """Summarize the state of a cluster at its last poll. Old data is a warning, whatever it says."""
    summary = _summarize_last_poll(history)
    if not history.is_stale or history.age is None:
        return summary
    last_poll = f"The last poll was {format_duration(history.age)} ago"
    if summary.level is SummaryLevel.OK:
        return ClusterSummary(SummaryLevel.WARNING, f"{last_poll}. Nothing was wrong then.", summary.details)
    return summary._replace(details=(f"{last_poll}: the state since then is unknown.", *summary.details))


def _summarize_last_poll(history: ClusterHistory) -> ClusterSummary:
    if history.unreachable_since is not None:
        return _unreachable_cluster(history, history.unreachable_since)
    notes = _notes(history)
    open_outages = [incident for incident in history.incidents if incident.ended is None and _is_outage(incident)]
    broker_outages = [open_outage for open_outage in open_outages if open_outage.kind in OUTAGES]
    unreachable = [broker for broker in history.brokers if broker.unreachable_since is not None]
    if broker_outages or history.now["offline"]:
        explained = {broker_outage.broker for broker_outage in broker_outages}
        unexplained = [_unreachable([broker], history) for broker in unreachable if broker.id not in explained]
        headline = _critical_headline(history, broker_outages)
        return ClusterSummary(SummaryLevel.CRITICAL, headline, (*(f"{sentence}." for sentence in unexplained), *notes))
    if history.now["under_replicated"] or history.now["electing"] or unreachable or open_outages:
        return ClusterSummary(SummaryLevel.WARNING, _warning_headline(history, open_outages, unreachable), notes)
    if not history.partitions:
        return ClusterSummary(SummaryLevel.WARNING, "No partition was reported.", notes)
    return ClusterSummary(
        SummaryLevel.OK, "Nothing is wrong now.", (_all_in_sync(history), *_last_outage(history), *notes)
    )


def _unreachable_cluster(history: ClusterHistory, since: int) -> ClusterSummary:
    """Say that nothing is known now, instead of repeating the last known state as the current one."""
    headline = f"No broker has answered since {format_time(since, history)}."
    cause = "The whole cluster is down, or the poller cannot reach it."
    if not history.partitions:
        return ClusterSummary(SummaryLevel.CRITICAL, headline, (cause,))
    last_known = (
        f"{pluralize(history.partitions, 'partition')} of {pluralize(history.topics, 'topic')} were reported before"
    )
    return ClusterSummary(
        SummaryLevel.CRITICAL,
        headline,
        (cause, f"{last_known}. Leaders, ISRs, and counts on this page are from that time."),
    )


def _critical_headline(history: ClusterHistory, broker_outages: list[ReportedIncident]) -> str:
    """Name the brokers that are down, then the affected partitions."""
    affected = _affected_partitions(history)
    if not broker_outages:
        return f"{upper_first(affected)}, since {_first_seen(history, 'offline')}."
    named = [
        f"{incident_title(broker_outage)} at {format_time(broker_outage.began, history)} and is not back"
        for broker_outage in broker_outages[:NAMED_OUTAGES]
    ]
    headline = _joined(named)
    if len(broker_outages) > NAMED_OUTAGES:
        headline += f"; more brokers are down: {len(broker_outages) - NAMED_OUTAGES}"
    return f"{headline}: {affected}." if affected else f"{headline}."


def _affected_partitions(history: ClusterHistory) -> str:
    """Count the partitions with problems, the most serious problem first."""
    states = (
        ("offline", "without a leader"),
        ("electing", "electing a leader"),
        ("under_replicated", "under-replicated"),
    )
    return ", ".join(
        f"{pluralize(history.now[flag], 'partition')} {state}" for flag, state in states if history.now[flag]
    )


def _warning_headline(
    history: ClusterHistory, open_outages: list[ReportedIncident], unreachable: list[BrokerHistory]
) -> str:
    """List everything that needs attention while all partitions still have a leader."""
    under_replicated, electing = history.now["under_replicated"], history.now["electing"]
    parts = [_unreachable(unreachable, history)] if unreachable else []
    parts += [
        f"{incident_title(open_outage)}, since {format_time(open_outage.began, history)}"
        for open_outage in open_outages
    ]
    if under_replicated:
        parts.append(f"{pluralize(under_replicated, 'partition')} under-replicated since {_first_seen(history)}")
    if electing:
        parts.append(f"{pluralize(electing, 'partition')} electing a leader")
    return f"{_joined(parts)}."


def _unreachable(brokers: list[BrokerHistory], history: ClusterHistory) -> str:
    since = min(broker.unreachable_since or history.ended for broker in brokers)
    ids = ", ".join(str(broker.id) for broker in brokers[:NAMED_BROKERS])
    subject = f"Broker {ids} has" if len(brokers) == 1 else f"Brokers {ids} have"
    return f"{subject} not answered since {format_time(since, history)}"


def _joined(clauses: list[str]) -> str:
    return "; ".join([clauses[0], *map(lower_first, clauses[1:])])


def _first_seen(history: ClusterHistory, flag: str | None = None) -> str:
    """Return the time since when the first unhealthy partition, or the first with `flag`, has been unhealthy."""
    times = (since for _, _, flag_of_partition, since in history.unhealthy if flag in (None, flag_of_partition))
    return format_time(min(times, default=history.ended), history)


def _all_in_sync(history: ClusterHistory) -> str:
    polled = sum(1 for broker in history.brokers if broker.polls)
    brokers = "The only polled broker answers" if polled == 1 else f"All {polled} brokers answer"
    if history.partitions == 1:
        return f"{brokers}, and the only partition has a leader and is in sync."
    return f"{brokers}, and all {format_number(history.partitions)} partitions have a leader and are in sync."


def _last_outage(history: ClusterHistory) -> tuple[str, ...]:
    over = [incident for incident in history.incidents if _is_outage(incident) and incident.ended is not None]
    if not over:
        return ()
    last = max(over, key=lambda period: period.ended or 0)
    assert last.ended is not None
    what = f"{lower_first(incident_title(last))} at {format_time(last.began, history)}"
    return (f"Last outage: {what}, resolved {format_duration(history.ended - last.ended)} before the last poll.",)


def _is_outage(incident: ReportedIncident) -> bool:
    return incident_group(incident) is IncidentGroup.OUTAGE


def _notes(history: ClusterHistory) -> tuple[str, ...]:
    """Return sentences about conditions that are not problems but worth a look."""
    notes = []
    if history.now["under_min_isr"]:
        notes.append(f"{pluralize(history.now['under_min_isr'], 'partition')} below min.insync.replicas.")
    expected = [broker for broker in history.brokers if broker.leaders_fair >= 1]
    if expected:
        furthest = max(expected, key=lambda broker: abs(broker.leaders - broker.leaders_fair) / broker.leaders_fair)
        share = furthest.leaders / furthest.leaders_fair
        if share > UNFAIR_SHARE or share < 1 / UNFAIR_SHARE:
            not_preferred = history.now["not_preferred"]
            verb = "is" if not_preferred == 1 else "are"
            notes.append(
                f"Worth a look: broker {furthest.id} leads {pluralize(furthest.leaders, 'partition')}, its fair share "
                f"is {format_number(furthest.leaders_fair)}; {pluralize(not_preferred, 'partition')} "
                f"({format_percent(not_preferred, history.partitions)}) {verb} not led by the preferred replica."
            )
    if history.unreadable_responses:
        notes.append(f"{pluralize(history.unreadable_responses, 'response')} could not be decoded.")
    if history.poll_gaps:
        began, ended = max(history.poll_gaps, key=lambda gap: gap[1] - gap[0])
        times = "once" if len(history.poll_gaps) == 1 else f"{format_number(len(history.poll_gaps))} times"
        notes.append(
            f"Polls are missing {times}, for at most {format_duration(ended - began)} from "
            f"{format_time(began, history)} on: what happened meanwhile is known from later polls only."
        )
    return tuple(notes)
