"""A webhook that receives incidents in the form of Alertmanager's webhooks (version 4)."""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ssl import create_default_context
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kwire.spark.sinks.notice import rfc3339
from kwire.spark.sinks.publisher import SinkFailed

if TYPE_CHECKING:
    from kwire.spark.sinks.notice import IncidentNotice

TIMEOUT = 10.0
"""Seconds to wait for a response."""


class WebhookSink:
    """Posts each notice to a URL as a group of one alert.

    A notice that is repeated after a crash has the same bytes and the same `Idempotency-Key`, its `key`.

    The path and query of the URL may contain a token, so errors name its host only.

    Args:
        url: an HTTP or HTTPS URL.

    Raises:
        ValueError: `url` is not such a URL.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("expected the URL of a webhook, such as http://host:9093/path")
        self._is_https = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        self.name = f"webhook-{hashlib.sha256(url.encode()).hexdigest()[:16]}"

    def send(self, notice: IncidentNotice) -> None:
        """Post a notice; any response of the class 2xx accepts it."""
        body = json.dumps(alertmanager_payload(notice)).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "kwire", "Idempotency-Key": f'"{notice.key}"'}
        connection = self._connect()
        try:
            connection.request("POST", self._target, body, headers)
            response = connection.getresponse()
            response.read()
        except (OSError, HTTPException) as error:
            raise SinkFailed(f"webhook {self._host}", error) from error
        finally:
            connection.close()
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            raise SinkFailed(f"webhook {self._host}", f"HTTP status {response.status}")

    def _connect(self) -> HTTPConnection:
        if self._is_https:
            return HTTPSConnection(self._host, self._port, timeout=TIMEOUT, context=create_default_context())
        return HTTPConnection(self._host, self._port, timeout=TIMEOUT)


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
