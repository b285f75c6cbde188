"""Alerts that a sink has received or is about to receive, and dead letters, as the ledger stores them.

The tables of `ledger` describe their states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kwire_pipeline.sinks.notice import MISSED, IncidentNotice, NoticeStatus


class Arrival(StrEnum):
    """The fate of the last notice of an alert; see the table of `ledger`."""

    UNDER_WAY = "under way"
    UNKNOWN = "unknown"
    UNSENT = "unsent"
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(slots=True)
class SentAlert:
    """An alert of the sink. Times are ISO 8601.

    Attributes:
        incident_id: the id that gold has for it now.
        labels: the labels of its first notice.
        status: the status of its last notice.
        arrival: the fate of this notice.
        episode: the number of times that the alert has fired.
        notice: the values of JSON of this notice, until it is accepted; those of `firing` as long as the alert fires.
        is_first: True until the first notice of the alert is accepted or a dead letter.
        attempts: number of failed attempts to send the notice.
        strikes: number of rounds in which the sink failed at the notice but accepted others.
        former: the ends of earlier incidents of the alert, by their ids in gold.
        is_counted: False until a notice about the incident is accepted.
    """

    incident_id: str
    subject: str
    first_sign_at: str
    labels: dict[str, str]
    status: NoticeStatus = NoticeStatus.FIRING
    arrival: Arrival = Arrival.UNSENT
    episode: int = 1
    notice: dict[str, Any] | None = None
    is_first: bool = True
    ended_at: str | None = None
    attempts: int = 0
    strikes: int = 0
    former: dict[str, str] = field(default_factory=dict)
    is_counted: bool = False

    @property
    def is_pending(self) -> bool:
        """True if the sink has not accepted the last notice, and may still do so."""
        return self.arrival not in {Arrival.ACCEPTED, Arrival.REFUSED}

    @property
    def is_firing(self) -> bool:
        """True if the sink has the alert as open, and no other notice is pending."""
        return self.status is NoticeStatus.FIRING and self.arrival is Arrival.ACCEPTED

    @property
    def is_resolved(self) -> bool:
        """True if the sink has the alert as ended, and no other notice is pending."""
        return self.status is NoticeStatus.RESOLVED and self.arrival is Arrival.ACCEPTED

    @property
    def is_summary(self) -> bool:
        """True if no incident of gold, but a pending summary of missed ones, is the reason for the alert."""
        return self.is_pending and self.notice is not None and self.notice["kind"] == MISSED

    def as_notice(self) -> IncidentNotice:
        """Return the last notice, with the same bytes each time. An alert that has ended has none."""
        assert self.notice is not None
        return IncidentNotice.from_json(self.notice, self.labels, self.episode)


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
    """Return an alert from its values of JSON."""
    names = {"status": NoticeStatus(values["status"]), "arrival": Arrival(values["arrival"])}
    return SentAlert(**values | names)
