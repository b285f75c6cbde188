"""Receivers of HTTP: webhooks in the form of Alertmanager's own (version 4) or another one, and Alertmanager itself.

| answer | may have arrived | next |
|---|---|---|
| 2xx | yes | accepted |
| 2xx with a page of HTML instead of Alertmanager's answer: a proxy that wants a login | no | repeated |
| no connection (DNS, refused, TLS) | no | repeated |
| `REFUSED_STATUSES`: the notice is refused | no | dead letter |
| other 4xx, and 3xx: the sender, the URL, or the moment is refused, not the notice | no | repeated |
| 5xx, or any other status | yes | repeated |
| none within `TIMEOUT`, or a lost connection | yes | repeated |

After a repeated answer with `Retry-After`, such as 429 or 503, the sink rests for that time.

Alertmanager ends an alert that has no `endsAt` after its `resolve_timeout`, unless it is repeated. While all open
alerts can be repeated well within that time, its clock decides. A receiver that is too slow for that (measured, by the
number of open alerts) gets an `endsAt` by which they are certainly repeated; it then lasts longer until the alerts of a
job that has died end.

Times are corrected by the `Date` of the last response, so that neither an alert that has begun "in the future" is
refused, nor one that has ended lasts until the clock of Alertmanager has caught up.

Redirects are not followed: a receiver must not choose where notices and tokens go. Bodies of responses are not read.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
import time
from base64 import b64encode
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ssl import create_default_context
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from kwire._util.secret import Secret
from kwire_pipeline.sinks.payloads import alertmanager_payload, postable_alert
from kwire_pipeline.sinks.sink import SinkFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kwire_pipeline.sinks.notice import IncidentNotice

TIMEOUT = 10.0
"""Seconds of a whole exchange: name resolution, connection, TLS, request, and the head of the response. This is the
timeout of Alertmanager's own webhooks."""

RESOLVE_TIMEOUT = 300.0
"""Seconds of Alertmanager's default `resolve_timeout`."""

SMALLEST_SKEW = timedelta(seconds=2)
"""Smallest difference between the clocks that is corrected: `Date` has whole seconds."""

LONGEST_WAIT_S = 30.0
"""Maximum number of seconds between two successes that are the limit of a receiver, and no outage. Chosen."""

SHORT_KEPT = 10_000
"""Maximum number of alerts that are known to need short texts."""

LONGEST_S = 86_400.0
"""Maximum number of seconds that an alert lasts without a repetition. Chosen, not measured."""

SHORT_S = 0.5
"""Seconds in which all open alerts are repeated by any measure."""

SMOOTHING = 0.03
"""Weight of the last exchange in the measured time of an alert. Chosen, not measured."""

REFUSED_STATUSES = frozenset({400, 409, 411, 413, 415, 417, 422})
"""HTTP statuses about the content of a request. All others of the classes 3xx and 4xx may be the answer of a proxy: an
ingress without its rules says 404, and one without a session redirects to a login."""

LONGEST_SKEW = timedelta(days=36_525)
"""Maximum difference between the clocks that is corrected. A clock without a battery begins in 1970."""

OWN_HEADERS = frozenset(
    {"connection", "content-length", "content-type", "host", "idempotency-key", "transfer-encoding", "user-agent"}
)
"""Lower-case names of headers that a request has already."""


class HttpAnswer(NamedTuple):
    """The head of a response: its status, and the headers `Retry-After`, `Date`, and `Content-Type`."""

    status: int
    retry_after: str | None = None
    date: str | None = None
    content_type: str | None = None


class WebhookSink:
    """Posts each notice to a URL.

    A notice that is repeated has the same bytes and the same `Idempotency-Key`, its `key`. The user and password of
    `http://user:password@host/` are sent as Basic authentication (RFC 7617).

    The path and query of the URL may contain a token, so errors name its host only.

    Args:
        url: an HTTP or HTTPS URL.
        timeout: seconds of a whole exchange.
        headers: further headers.
        token_file: a file with a bearer token (RFC 6750), read before each request, since tokens are replaced.
        payload: returns the values of JSON to post for a notice [default: a group of one alert].
        name: the name of the ledger [default: from the URL].

    Raises:
        ValueError: `url` is not such a URL, a header is invalid, or the file has no token.
    """

    def __init__(
        self,
        url: str,
        timeout: float = TIMEOUT,
        *,
        headers: Mapping[str, str] | None = None,
        token_file: Path | None = None,
        payload: Callable[[IncidentNotice], Any] = alertmanager_payload,
        name: str | None = None,
    ) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:  # its text may show a part of the password
            raise ValueError(_EXPECTED) from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"[^!-~]", url):
            raise ValueError(_EXPECTED)
        self._is_https = parts.scheme == "https"
        self._host, self._port = parts.hostname, port
        self._target = Secret(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        self._headers = {key: Secret(value) for key, value in (headers or {}).items()}
        for key, value in self._headers.items():
            _check_header(key, value)
        self._token_file = token_file
        has_header = any(key.lower() == "authorization" for key in self._headers)
        if (parts.username is not None) + (token_file is not None) + has_header > 1:
            raise ValueError("expected one of token_file, a header Authorization, and credentials in the URL")
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = Secret(f"Basic {b64encode(pair.encode()).decode('ascii')}")
        if token_file is not None:
            _read_token(token_file)
        self._payload = payload
        self._timeout = timeout
        self._thread: threading.Thread | None = None
        # Without the credentials, so that a new password does not begin a new ledger.
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        self.name = name or f"webhook-{hashlib.sha256(address.encode()).hexdigest()[:16]}"

    def send(self, notice: IncidentNotice) -> None:
        """Post a notice.

        Raises:
            SinkFailed: it was not accepted; see the table of the module.
        """
        self._post(self._payload(notice), {"Idempotency-Key": f'"{notice.key}"'})

    def _post(self, payload: Any, headers: Mapping[str, str]) -> None:
        name = f"webhook {self._host}"
        if self._thread is not None and self._thread.is_alive():
            raise SinkFailed(name, "still connecting since the last attempt", may_have_arrived=False)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "kwire",
            "Connection": "close",
            **headers,
            **{key: value.reveal() for key, value in self._headers.items()},
        }
        if self._token_file is not None:
            try:
                headers["Authorization"] = f"Bearer {_read_token(self._token_file).reveal()}"
            except ValueError as error:  # perhaps it is being replaced
                raise SinkFailed(name, error, may_have_arrived=False) from None
        self._check(self._exchange(json.dumps(payload).encode(), headers))

    def _check(self, answer: HttpAnswer) -> None:
        """Raise the error of an answer that does not accept a notice."""
        kind, name = answer.status // 100, f"webhook {self._host}"
        if kind == 2:
            return
        reason = f"HTTP status {answer.status}"
        if answer.status in REFUSED_STATUSES:
            raise SinkFailed(name, reason, is_final=True)
        is_other_answer = kind in {3, 4}
        pause = _seconds(answer.retry_after)
        raise SinkFailed(name, reason, may_have_arrived=not is_other_answer, retry_after=pause)

    def _exchange(self, body: bytes, headers: dict[str, str]) -> HttpAnswer:
        """Post a body, and return the answer.

        Raises:
            SinkFailed: there is no answer.
        """
        name = f"webhook {self._host}"
        exchange = _PostRequest(self._connect())
        # A timeout of a socket limits each read, so a server that sends a byte now and then is cut off from outside.
        self._thread = thread = threading.Thread(
            target=exchange.run, args=(self._target.reveal(), body, headers), name="kwire-webhook", daemon=True
        )
        thread.start()
        thread.join(self._timeout)
        if thread.is_alive():
            exchange.cancel()
            has_connected = exchange.has_connected
            raise SinkFailed(name, f"no answer within {self._timeout:g} s", may_have_arrived=has_connected)
        if exchange.error is not None:
            # The text of an HTTPException has bytes of the server, which could control a terminal.
            is_http = isinstance(exchange.error, HTTPException)
            reason = type(exchange.error).__name__ if is_http else str(exchange.error)
            if isinstance(exchange.error, TimeoutError):  # of a read, which ends a moment before the thread is given up
                reason = f"no answer within {self._timeout:g} s"
            raise SinkFailed(name, reason, may_have_arrived=exchange.has_connected) from exchange.error
        assert exchange.answer is not None
        return exchange.answer

    def _connect(self) -> HTTPConnection:
        if self._is_https:
            return HTTPSConnection(self._host, self._port, timeout=self._timeout, context=create_default_context())
        return HTTPConnection(self._host, self._port, timeout=self._timeout)


def _check_header(name: str, value: Secret) -> None:
    """Check a header (RFC 9110, 5.1 and 5.5); the error does not show its value."""
    if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
        raise ValueError("expected the name of a header")  # it could be a secret at a wrong place
    if name.lower() in OWN_HEADERS:
        raise ValueError(f"the header {name} cannot be set")
    if not re.fullmatch(r"[!-~]([ -~]*[!-~])?", value.reveal()):
        raise ValueError(f"the value of the header {name} is not printable ASCII")


def _read_token(path: Path) -> Secret:
    """Return the token of a file; the error does not show it.

    Raises:
        ValueError: the file cannot be read, or has no token.
    """
    try:
        token = Secret(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} has no bearer token") from None
    if not re.fullmatch(r"[A-Za-z0-9._~+/-]+=*", token.reveal()):
        raise ValueError(f"{path} has no bearer token")
    return token


_EXPECTED = "expected the URL of a webhook, such as http://host:9093/path"


class AlertmanagerSink(WebhookSink):
    """Posts notices to Alertmanager's API v2, and repeats firing alerts.

    Args:
        url: the URL of Alertmanager, to which `/api/v2/alerts` is appended.
        resolve_timeout: seconds, at most the `resolve_timeout` of Alertmanager, which resolves an alert that is not
            repeated within it.
        timeout, headers, token_file, name: as for `WebhookSink`.
        clock: a monotonic clock in seconds.
        now: the system's clock.

    Attributes:
        open_alerts: as of `RepeatingSink`.

    Raises:
        ValueError: as for `WebhookSink`, or the URL has a query.
    """

    def __init__(
        self,
        url: str,
        timeout: float = TIMEOUT,
        *,
        headers: Mapping[str, str] | None = None,
        token_file: Path | None = None,
        resolve_timeout: float = RESOLVE_TIMEOUT,
        name: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if "?" in url or "#" in url:
            raise ValueError("expected the URL of Alertmanager without a query, such as http://host:9093")
        super().__init__(f"{url.rstrip('/')}/api/v2/alerts", timeout, headers=headers, token_file=token_file, name=name)
        self.open_alerts = 0
        self._resolve_timeout = resolve_timeout
        self._clock, self._now = clock, now
        self._ahead = timedelta(0)
        self._seconds_per_alert = 0.0
        self._lost_s = 0.0
        """Seconds of exchanges that failed since the last success."""
        self._waiting_since: float | None = None
        """The time of the first attempt that was refused as too early since the last success."""
        self._short: set[str] = set()
        """The ids of alerts that failed alone, which are sent without annotations but the summary."""

    def send(self, notice: IncidentNotice) -> None:
        """Post a notice.

        Raises:
            SinkFailed: it was not accepted.
        """
        self.send_batch([notice])

    def send_batch(self, notices: Sequence[IncidentNotice]) -> None:
        """Post notices, new ones or repeated ones, in one request.

        Raises:
            SinkFailed: one of them was not accepted. Alertmanager has accepted the others.
        """
        began = self._clock()
        try:
            try:
                self._post_in_time(notices)
            except SinkFailed as failure:
                # A proxy that does not take the size of a single alert may say so by any status, or by none.
                is_of_notice = failure.is_final or failure.may_have_arrived
                if len(notices) > 1 or notices[0].id in self._short or not is_of_notice:
                    raise
                if len(self._short) >= SHORT_KEPT:
                    self._short.clear()
                self._short.add(notices[0].id)
                self._post_in_time(notices)
        except SinkFailed as failure:
            if failure.is_final or failure.may_have_arrived:
                self._lost_s += self._clock() - began
            elif self._waiting_since is None:
                self._waiting_since = began
            raise
        # The pace at which alerts are accepted, with the pauses that the receiver wants. Pauses after other failures do
        # not count: they have no influence on the alerts that it accepts.
        waited_s = 0.0 if self._waiting_since is None else min(began - self._waiting_since, LONGEST_WAIT_S)
        spent = (self._lost_s + waited_s + self._clock() - began) / len(notices)
        self._lost_s, self._waiting_since = 0.0, None
        # Slower at once, faster in time: a limit of the rate shows after a burst only.
        smoothed = self._seconds_per_alert + SMOOTHING * (spent - self._seconds_per_alert)
        self._seconds_per_alert = max(spent, smoothed)

    def _post_in_time(self, notices: Sequence[IncidentNotice]) -> None:
        """Post notices, and once more if they were refused while the clock of the receiver was unknown.

        Alertmanager refuses an alert that begins in its future, and its answer is the first that says its time.
        """
        ahead = self._ahead
        try:
            self._post(self._alerts(notices), {})
        except SinkFailed as failure:
            if not failure.is_final or abs(self._ahead - ahead) < SMALLEST_SKEW:
                raise
            self._post(self._alerts(notices), {})

    def _alerts(self, notices: Sequence[IncidentNotice]) -> list[dict[str, Any]]:
        now = self._now() + self._ahead
        end = self._end(now)
        return [postable_alert(notice, now, end, is_short=notice.id in self._short) for notice in notices]

    @property
    def repeat_s(self) -> float:
        """A third of the time that an alert lasts without a repetition, so that it outlives two that fail."""
        return self._lasting_s / 3

    @property
    def _lasting_s(self) -> float:
        """The seconds that a firing alert lasts unless it is repeated."""
        needed = self._seconds_per_alert * self.open_alerts
        if needed <= max(self._resolve_timeout / 6, SHORT_S):
            return self._resolve_timeout
        return min(self._resolve_timeout + 6 * needed, LONGEST_S)

    def _end(self, now: datetime) -> datetime | None:
        """Return when a firing alert ends unless it is repeated; None leaves it to Alertmanager."""
        lasting_s = self._lasting_s
        return None if lasting_s <= self._resolve_timeout else now + timedelta(seconds=lasting_s)

    def _check(self, answer: HttpAnswer) -> None:
        """Learn how far the clock of Alertmanager is ahead, and raise the error of an answer that accepts nothing."""
        if answer.status // 100 == 2 and (answer.content_type or "").lower().startswith("text/html"):
            reason = f"HTTP status {answer.status} with a page of HTML, which is not an answer of Alertmanager"
            raise SinkFailed(f"webhook {self._host}", reason, may_have_arrived=False)
        if (date := _http_date(answer.date)) is not None:
            ahead = date - self._now()
            self._ahead = ahead if SMALLEST_SKEW <= abs(ahead) <= LONGEST_SKEW else timedelta(0)
        super()._check(answer)


class _PostRequest:
    """One request and the head of its response, which another thread may cancel.

    Attributes:
        has_connected: True once the request may be on its way.
        answer: the head of the response, if any.
        error: the reason why there is no response.
    """

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._is_canceled = False
        self.has_connected = False
        self.answer: HttpAnswer | None = None
        self.error: OSError | HTTPException | ValueError | None = None

    def run(self, target: str, body: bytes, headers: dict[str, str]) -> None:
        """Send a request and receive the head of its response. Its body is not read: nothing depends on it."""
        try:
            self._connection.connect()
            with self._lock:
                # A request that begins after `cancel` could overtake a later notice about the same incident.
                if self._is_canceled:
                    return
                self.has_connected = True
            self._connection.request("POST", target, body, headers)
            response = self._connection.getresponse()
            headers_of_answer = (response.headers[name] for name in ("Retry-After", "Date", "Content-Type"))
            self.answer = HttpAnswer(response.status, *headers_of_answer)
        except (OSError, HTTPException, ValueError) as error:  # ValueError: a name that is not one of DNS
            self.error = error
        finally:
            self._connection.close()

    def cancel(self) -> None:
        """Cut off the connection, which ends a thread that waits for it."""
        with self._lock:
            self._is_canceled = True
        sock = self._connection.sock
        if sock is not None:
            with suppress(OSError):  # its thread may have closed it
                # `SSLSocket.shutdown` would first turn the socket into one that sends plain text.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _seconds(retry_after: str | None) -> float:
    """Return the seconds of a header `Retry-After`, which has seconds or a date (RFC 9110, 10.2.3); 0.0 if invalid."""
    if re.fullmatch(r"[0-9]+", retry_after or ""):
        return float(retry_after or "")
    at = _http_date(retry_after)
    return 0.0 if at is None else max(at.timestamp() - time.time(), 0.0)


def _http_date(text: str | None) -> datetime | None:
    """Return a date of a header (RFC 9110, 5.6.7); None if it is invalid."""
    try:
        date = parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):  # a year or a zone of too many digits
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
