"""An alert as a sink has received it, and a notice that the sink has refused, as the ledger stores them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from kwire_pipeline.sinks.notice import IncidentNotice


class AlertState(StrEnum):
    """The state of an alert at the sink; see the table of `ledger`."""

    UNCONFIRMED = "unconfirmed"
    FIRING = "firing"
    RESOLVED = "resolved"
    REFUSED = "refused"


@dataclass(slots=True)
class SentAlert:
    """An alert of the sink.

    Attributes:
        incident_id: the id that gold has for it now.
        subject: the identity of the incident without its times (`alert_identity`).
        first_sign_at: the first sign of the incident in the first notice.
        labels: the labels of the first notice.
        episode: the number of times that the alert has fired.
        notice: the unconfirmed notice; the last `firing` one as long as the alert fires.
        ended_at: the end of the last incident of a resolved alert.
        strikes: number of rounds in which the sink failed at the notice but accepted others.
        former: the ends of earlier incidents of the alert, by their ids in gold.
        is_counted: False until a notice about the last incident is accepted.
    """

    incident_id: str
    subject: str
    first_sign_at: datetime
    labels: dict[str, str]
    state: AlertState = AlertState.UNCONFIRMED
    episode: int = 1
    notice: IncidentNotice | None = None
    ended_at: datetime | None = None
    strikes: int = 0
    former: dict[str, datetime] = field(default_factory=dict)
    is_counted: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the attributes; times are not converted."""
        values = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        return values | {"notice": self.notice and self.notice.as_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the alert of the values of `as_json`, with times in ISO 8601."""
        labels, episode, notice, ended_at = (values[name] for name in ("labels", "episode", "notice", "ended_at"))
        read: dict[str, Any] = {
            "state": AlertState(values["state"]),
            "first_sign_at": datetime.fromisoformat(values["first_sign_at"]),
            "notice": notice and IncidentNotice.from_json(notice, labels, episode),
            "ended_at": ended_at and datetime.fromisoformat(ended_at),
            "former": {id: datetime.fromisoformat(at) for id, at in values["former"].items()},
        }
        return cls(**values | read)


@dataclass(slots=True)
class DeadLetter:
    """A notice that the sink refused.

    Attributes:
        at: the time of the last attempt, ISO 8601.
        alert_id: the id of the alert.
        reason: the reason of the last refusal.
        attempts: number of rounds in which the sink failed at the notice although it accepts others, with the last one.
        notice: its values of JSON.
    """

    at: str
    alert_id: str
    reason: str
    attempts: int
    notice: dict[str, Any]
