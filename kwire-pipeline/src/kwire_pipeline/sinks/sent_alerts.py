"""Alerts that a sink has received, notices on their way, and dead letters, as the ledger stores them.

The tables of `ledger` describe their states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kwire_pipeline.sinks.notice import IncidentNotice


class AlertState(StrEnum):
    """The state of an alert; see the table of `ledger`."""

    UNSENT = "unsent"
    FIRING = "firing"
    RESOLVED = "resolved"
    REFUSED = "refused"


@dataclass(slots=True)
class Sending:
    """A notice that is being sent.

    Attributes:
        notice: its values of JSON.
        position: the position of the sink before the first attempt.
        attempts: number of attempts.
        strikes: number of rounds in which the sink failed at this notice but accepted others.
        is_under_way: True during an attempt, and after a crash during one.
        may_have_arrived: True if the outcome of an earlier attempt is unknown.
    """

    notice: dict[str, Any]
    first_labels: dict[str, str] | None
    episode: int
    position: Any = None
    attempts: int = 0
    strikes: int = 0
    is_under_way: bool = False
    may_have_arrived: bool = False

    def as_notice(self) -> IncidentNotice:
        """Return the notice, with the same bytes at each attempt."""
        return IncidentNotice.from_json(self.notice, self.first_labels, self.episode)


@dataclass(slots=True)
class SentAlert:
    """An alert of the sink. Times are ISO 8601.

    Attributes:
        incident_id: the id that gold has for it now.
        labels: the labels of its first notice.
        incident: the values of its last notice as `firing`, with which it is resolved if gold no longer has it.
        former: the ends of earlier incidents of the alert, by their ids in gold.
        is_counted: False until a notice about the incident is accepted.
        missed: the resolved alerts that a summary stands for, by id; empty for an incident.
    """

    state: AlertState
    incident_id: str
    subject: str
    first_sign_at: str
    ended_at: str | None
    labels: dict[str, str]
    episode: int = 1
    incident: dict[str, Any] | None = None
    sending: Sending | None = None
    missed: dict[str, SentAlert] = field(default_factory=dict)
    former: dict[str, str] = field(default_factory=dict)
    is_counted: bool = False


@dataclass(slots=True)
class DeadLetter:
    """A notice that the sink refused.

    Attributes:
        at: the time of the last attempt, ISO 8601.
        notice: its values of JSON.
    """

    at: str
    alert_id: str
    reason: str
    attempts: int
    notice: dict[str, Any]


def decode_alert(values: dict[str, Any]) -> SentAlert:
    """Return an alert from its values of JSON. An attempt that was under way may have arrived."""
    sending = values.pop("sending")
    missed = {id: decode_alert(alert) for id, alert in values.pop("missed", {}).items()}
    alert = SentAlert(**values | {"state": AlertState(values["state"]), "missed": missed})
    if sending is not None:
        alert.sending = Sending(**sending)
        alert.sending.may_have_arrived |= alert.sending.is_under_way
    return alert
