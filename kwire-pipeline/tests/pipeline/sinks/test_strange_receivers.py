"""Receivers of HTTP that answer with other bytes than a response, or never, or with a lie.

Whatever a receiver does, an exchange ends in time, with success or `SinkFailed`, and shows none of its bytes.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_pipeline.sinks import IncidentNotice, NoticeStatus, SinkFailed
from kwire_pipeline.sinks.webhook import AlertmanagerSink, HttpAnswer, WebhookSink
from tests.pipeline.sinks.alerts import START, delivery_to, incident
from tests.pipeline.webhook import Webhook
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

TIMEOUT = 0.5
FIRING = IncidentNotice(NoticeStatus.FIRING, incident(10))
RESET = struct.pack("ii", 1, 0)
"""Value of SO_LINGER with which a socket is closed by a reset."""


class RawReceiver:
    """A server that reads a request, and answers with bytes.

    Attributes:
        answer: the parts of the answer; a connection is closed after the last one.
        ends_with_reset: True to close by a reset.
        reads_request: False to answer at once.
    """

    def __init__(self, family: socket.AddressFamily = socket.AF_INET, tls: ssl.SSLContext | None = None) -> None:
        self.answer: Iterable[bytes] = ()
        self.ends_with_reset = False
        self.reads_request = True
        self.requests: list[bytes] = []
        host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        self._server = socket.create_server((host, 0), family=family)
        self._tls = tls
        self.port = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            connection, _ = self._server.accept()
            with connection, suppress(OSError):
                connection.settimeout(10)
                if self._tls is not None:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                if self.reads_request:
                    request = connection.recv(65536)
                    if not request:  # `close`
                        return
                    head, _, body = request.partition(b"\r\n\r\n")
                    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
                    while len(body) < length:
                        body += connection.recv(65536)
                    self.requests.append(head)
                for part in self.answer:
                    connection.sendall(part)
                if self.ends_with_reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                connection.close()

    def close(self) -> None:
        self.reads_request, self._tls = True, None
        with suppress(OSError):
            socket.create_connection(self._server.getsockname()[:2]).close()
        self._thread.join(20)
        self._server.close()


@contextmanager
def raw_receiver(
    family: socket.AddressFamily = socket.AF_INET, tls: ssl.SSLContext | None = None
) -> Iterator[RawReceiver]:
    receiver = RawReceiver(family, tls)
    try:
        yield receiver
    finally:
        receiver.close()


def outcome(sink: WebhookSink) -> SinkFailed | None:
    """Send a notice; an exchange must end in time, whatever the receiver does."""
    failures: list[SinkFailed] = []

    def send() -> None:
        try:
            sink.send(FIRING)
        except SinkFailed as failure:
            failures.append(failure)

    thread = threading.Thread(target=send)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert all(str(failure).isprintable() for failure in failures)
    return failures[0] if failures else None


def slowly(content: bytes) -> Iterator[bytes]:
    for byte in content:
        time.sleep(0.05)
        yield bytes([byte])


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("answer", "is_accepted"),
    [
        (chain([OK + b"Transfer-Encoding: chunked\r\n\r\n"], repeat(b"5\r\nhello\r\n", 1000)), True),
        ([OK + b"Content-Length: 1000000000\r\n\r\nhello"], True),
        ([OK + b"Content-Length: -5\r\nTransfer-Encoding: gzip\r\n\r\n"], True),
        ([b"HTTP/1.0 204\r\n\r\n"], True),
        ([b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + OK + b"\r\n"], True),
        (repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), False),
        (chain([OK], repeat(b"X-A: b\r\n")), False),
        (chain([OK + b"X-A: "], repeat(b"b" * 1000)), False),
        (slowly(OK + b"X-A: b\r\n" * 1000), False),
        ([b"HTTP/1.1 2"], False),
        ([], False),
        ([b"\x1b[2J\x1b]0;title\x07\r\n\r\n"], False),
        ([b"HTTP/1.1 -200 OK\r\n\r\n"], False),
        ([b"HTTP/1.1 600 \x1b[2J\r\n\r\n"], False),
        ([b"SSH-2.0-OpenSSH_9.6\r\n"], False),
    ],
    ids=range(15),
)
def test_head_of_the_answer_decides(answer: Iterable[bytes], is_accepted: bool) -> None:
    with raw_receiver() as receiver:
        receiver.answer = answer

        failure = outcome(WebhookSink(f"http://127.0.0.1:{receiver.port}/", TIMEOUT))

    assert (failure is None) == is_accepted
    assert failure is None or (failure.may_have_arrived and not failure.is_final)


@given(st.binary(max_size=60), st.sampled_from([b"", b"HTTP/1.1 ", OK, OK + b"Date: ", OK + b"Retry-After: "]))
def test_any_bytes_are_an_answer_or_a_failure(content: bytes, prefix: bytes) -> None:
    with raw_receiver() as receiver:
        receiver.answer = [prefix + content]
        failure = outcome(AlertmanagerSink(f"http://127.0.0.1:{receiver.port}", TIMEOUT))
    assert failure is None or not failure.is_final or b" 4" in prefix + content


@pytest.mark.parametrize("reads_request", [True, False])
def test_notice_may_have_arrived_before_a_reset(reads_request: bool) -> None:
    with raw_receiver() as receiver:
        receiver.ends_with_reset, receiver.reads_request = True, reads_request
        failure = outcome(WebhookSink(f"http://127.0.0.1:{receiver.port}/", TIMEOUT))
        receiver.reads_request = True
    assert failure is not None
    assert failure.may_have_arrived or not reads_request
    assert not failure.is_final


def test_redirect_is_repeated_and_not_followed(tmp_path: Path, webhook: Webhook) -> None:
    """An expired session, an ingress without its rules, and a receiver that moves: none is about the alert."""
    delivery = delivery_to(WebhookSink(webhook.url), tmp_path)
    target = Webhook()
    for status in (301, 302, 303, 307, 308, 401, 403, 404, 405, 410, 421, 451):
        webhook.status, webhook.headers = status, {"Location": target.url}
        assert delivery.publish(lambda _: [incident(10)]).failed == 1
    target.close()
    webhook.status = 200

    assert delivery.publish(lambda _: [incident(10)]).accepted == 1
    assert target.requests == []
    assert delivery.open().dead_letter_count == 0


@pytest.mark.parametrize("asked", ["86400", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_pause_of_a_day_does_not_end_open_alerts(tmp_path: Path, webhook: Webhook, asked: str) -> None:
    url = webhook.url.partition("/alerts")[0]
    delivery = delivery_to(AlertmanagerSink(url, resolve_timeout=300.0), tmp_path)
    delivery.publish(lambda _: [incident(10)])
    webhook.status, webhook.headers = 429, {"Retry-After": asked}

    assert delivery.publish(lambda _: [incident(10), incident(20, kind="group_stalled")]).pause == pytest.approx(100.0)


def test_page_of_a_proxy_is_not_an_answer_of_alertmanager(tmp_path: Path, webhook: Webhook) -> None:
    sink = AlertmanagerSink(webhook.url.partition("/alerts")[0])
    delivery = delivery_to(sink, tmp_path)
    webhook.headers = {"Content-Type": "text/HTML; charset=utf-8"}

    assert delivery.publish(lambda _: [incident(10)]).failed == 1
    webhook.headers = {"Content-Type": "application/json"}
    assert delivery.publish(lambda _: [incident(10)]).accepted == 1


def test_address_of_ip_version_6() -> None:
    with raw_receiver(socket.AF_INET6) as receiver:
        receiver.answer = [OK + b"\r\n"]
        assert outcome(WebhookSink(f"http://[::1]:{receiver.port}/path", TIMEOUT)) is None
        [head] = receiver.requests
    assert f"Host: [::1]:{receiver.port}".encode() in head


@pytest.mark.parametrize(
    ("hosts", "expires_days", "is_trusted", "is_accepted"),
    [
        (["127.0.0.1"], 1, True, True),
        (["localhost", "127.0.0.2"], 1, True, False),
        (["127.0.0.1"], -1, True, False),
        (["127.0.0.1"], 1, False, False),
    ],
    ids=["valid", "other name", "expired", "other authority"],
)
def test_only_the_receiver_of_the_url_gets_a_notice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hosts: list[str],
    expires_days: int,
    is_trusted: bool,
    is_accepted: bool,
) -> None:
    authority = CertificateAuthority()
    issued = authority.issue("receiver", hosts=hosts, expires=timedelta(days=expires_days))
    (tmp_path / "server.pem").write_text(issued.chain + issued.key)
    (tmp_path / "ca.pem").write_text((authority if is_trusted else CertificateAuthority()).certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with raw_receiver(tls=context) as receiver:
        receiver.answer = [OK + b"\r\n"]
        failure = outcome(WebhookSink(f"https://127.0.0.1:{receiver.port}/", 5.0))

    assert (failure is None, len(receiver.requests)) == (is_accepted, is_accepted)
    assert failure is None or not (failure.may_have_arrived or failure.is_final)


def test_receiver_without_tls_and_unknown_names_get_nothing() -> None:
    with raw_receiver() as receiver:
        receiver.answer, receiver.reads_request = [b"HTTP/1.1 400 Bad Request\r\n\r\n"], False
        failures = [outcome(WebhookSink(f"https://127.0.0.1:{receiver.port}/", TIMEOUT))]
        receiver.reads_request = True
    failures += [outcome(WebhookSink(url, TIMEOUT)) for url in ("http://name.invalid/", f"http://{'a' * 64}.invalid/")]
    for failure in failures:
        assert failure is not None
        assert (failure.may_have_arrived, failure.is_final) == (False, False)


DATES = st.one_of(
    st.text(max_size=40),
    st.builds(
        "Thu, {:02} Jan {:04} {:02}:00:00 {}".format,
        st.integers(0, 40),
        st.one_of(st.integers(0, 10_000), st.integers(0)),
        st.integers(0, 30),
        st.sampled_from(["GMT", "-0000", "+2359", "-2359", "+" + "9" * 20]),
    ),
)


@given(DATES, st.booleans())
def test_any_date_leaves_alerts_that_can_be_sent(date: str, has_ended: bool) -> None:
    bodies: list[list[dict[str, Any]]] = []

    class Sink(AlertmanagerSink):
        def _exchange(self, body: bytes, _: dict[str, str]) -> HttpAnswer:
            bodies.append(json.loads(body))
            return HttpAnswer(200, date, date)

    sink = Sink("http://receiver", now=lambda: START + timedelta(hours=1))
    sink.open_alerts = 10_000
    for _ in range(2):
        sink.send(IncidentNotice(NoticeStatus.RESOLVED, incident(10, ended=60)) if has_ended else FIRING)
    [alert] = bodies[-1]
    begin = datetime.fromisoformat(alert["startsAt"])
    assert begin.tzinfo == UTC
    assert begin <= datetime.fromisoformat(alert.get("endsAt", alert["startsAt"]))
