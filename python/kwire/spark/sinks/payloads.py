"""The forms in which receivers of HTTP want notices, as values of JSON."""

from __future__ import annotations

import re
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

from kwire.spark.sinks.notice import MISSED, rfc3339, severity_of

if TYPE_CHECKING:
    from kwire.spark.sinks.notice import IncidentNotice


MESSAGE = "*$status* $summary ($severity)\n$description"
"""The default template of a message, in Slack's mrkdwn."""

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


def postable_alert(notice: IncidentNotice) -> dict[str, Any]:
    """Return a notice as a `postableAlert` of Alertmanager's API v2.

    A firing alert has no `endsAt`, so the clock and the `resolve_timeout` of Alertmanager decide when it ends unless it
    is repeated. The notice about missed incidents has none either: Alertmanager sends no message about an alert that
    has ended when it arrives. Attributes become annotations with names that every version of Alertmanager accepts.
    """
    alert = {
        "labels": notice.labels,
        "annotations": {_label_name(name): text for name, text in notice.annotations.items()},
        "startsAt": rfc3339(notice.incident["began_at"]),
    }
    if notice.status == "resolved" and notice.incident["kind"] != MISSED:
        alert["endsAt"] = rfc3339(notice.incident["ended_at"])
    return alert


def _label_name(name: str) -> str:
    """Return a valid name of a label of Prometheus."""
    return re.sub(r"^(?=[0-9])|[^A-Za-z0-9_]", "_", name)
