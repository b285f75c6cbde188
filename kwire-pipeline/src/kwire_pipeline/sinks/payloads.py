"""The forms in which receivers of HTTP want notices, as values of JSON."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

from kwire_pipeline.sinks.notice import MISSED, rfc3339, severity_of

if TYPE_CHECKING:
    from kwire_pipeline.sinks.notice import IncidentNotice


MESSAGE = "*$status* $summary ($severity)\n$description"
"""The default template of a message, in Slack's mrkdwn."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The beginning of incidents that began earlier by a wrong clock: the year 1 means "now" to Alertmanager."""

LONGEST_TEXT = 1_000
"""Maximum number of characters of an annotation of Alertmanager. Chosen, not measured: a screen of text."""

MESSAGE_FIELDS = (
    "status",
    "severity",
    "kind",
    "cluster_id",
    "broker_id",
    "incident_id",
    "summary",
    "description",
    "began_at",
    "ended_at",
    "topics",
)
"""The placeholders of templates."""


class MessagePayload:
    """Notices as messages of Slack's incoming webhooks, which Mattermost, Rocket.Chat, and Discord also accept.

    Args:
        template: the text, with the placeholders of `string.Template`, such as `$summary` or `${summary}`.

    Raises:
        ValueError: the template has an unknown or malformed placeholder.
    """

    def __init__(self, template: str = MESSAGE) -> None:
        self._template = Template(template)
        if not self._template.is_valid():
            raise ValueError("malformed placeholder: expected $name or ${name}, and $$ for a dollar")
        unknown = [name for name in self._template.get_identifiers() if name not in MESSAGE_FIELDS]
        if unknown:
            raise ValueError(f"unknown placeholder ${unknown[0]}: expected one of {', '.join(MESSAGE_FIELDS)}")

    def __call__(self, notice: IncidentNotice) -> dict[str, Any]:
        """Return the message of a notice."""
        row, annotations = notice.incident, notice.annotations
        values = {name: row.get(name) for name in MESSAGE_FIELDS} | {
            "status": notice.status,
            "severity": severity_of(str(row["kind"])),
            "incident_id": notice.id,
            "summary": annotations["summary"],
            "description": annotations["description"],
            "began_at": rfc3339(row["began_at"]),
            "ended_at": None if row["ended_at"] is None else rfc3339(row["ended_at"]),
            "topics": ", ".join(row.get("topics") or ()),
        }
        # Escaped, or a cluster id like <!channel> would call everybody.
        texts = {name: escape("" if value is None else str(value), quote=False) for name, value in values.items()}
        return {"text": self._template.substitute(texts)}


def alertmanager_payload(notice: IncidentNotice) -> dict[str, Any]:
    """Return a notice in the form of Alertmanager's webhooks."""
    labels, annotations = notice.labels, notice.annotations
    alert = {
        "status": str(notice.status),
        "labels": labels,
        "annotations": annotations,
        "startsAt": rfc3339(notice.incident["began_at"]),
        "endsAt": rfc3339(notice.incident["ended_at"]),
        "generatorURL": "",
        "fingerprint": notice.id,
    }
    return {
        "version": "4",
        "groupKey": f"kwire:{notice.id}",
        "truncatedAlerts": 0,
        "status": str(notice.status),
        "receiver": "kwire",
        "groupLabels": {"incident_id": notice.id},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "",
        "alerts": [alert],
    }


def postable_alert(
    notice: IncidentNotice, now: datetime, end: datetime | None = None, *, is_short: bool = False
) -> dict[str, Any]:
    """Return a notice as a `postableAlert` of Alertmanager's API v2.

    Attributes become annotations with names that every version of Alertmanager accepts. Long texts are cut, so that the
    size of a body depends on the number of its alerts.

    Args:
        notice: the notice.
        now: the time of Alertmanager's clock, after which nothing begins or ends: it refuses an alert that ends before
            it begins, and one that ends later lasts until then.
        end: time when a firing alert ends unless it is repeated [default: Alertmanager's `resolve_timeout`].
        is_short: True to leave out all annotations but the summary.
    """
    annotations = {_label_name(name): shorten(text) for name, text in notice.annotations.items()}
    begin = min(max(notice.incident["began_at"], EPOCH), now)
    alert = {
        "labels": notice.labels,
        "annotations": {"summary": annotations["summary"]} if is_short else annotations,
        "startsAt": rfc3339(begin),
    }
    if notice.status == "resolved":
        # Alertmanager sends no message about an alert that has ended when it arrives, so missed incidents have no end.
        if notice.incident["kind"] != MISSED:
            alert["endsAt"] = rfc3339(max(begin, min(notice.incident["ended_at"], now)))
    elif end is not None:
        alert["endsAt"] = rfc3339(end)
    return alert


def shorten(text: str) -> str:
    """Return a text of at most `LONGEST_TEXT` characters."""
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _label_name(name: str) -> str:
    """Return a valid name of a label of Prometheus."""
    return re.sub(r"^(?=[0-9])|[^A-Za-z0-9_]", "_", name) or "_"
