"""Part of the demo: a live pipeline. A broker is stopped, and its incident arrives in a webhook."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from examples.demo.terminal import DemoContext, paint, print_line, step
from kwire.testing import FakeCluster
from kwire_pipeline import Pipeline
from kwire_pipeline.live.live_gold import LiveGold
from kwire_pipeline.sinks import IncidentPublisher
from kwire_pipeline.sinks.webhook import WebhookSink
from kwire_pipeline.source.live_source import BackgroundPolling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INTERVAL = 0.5
"""Seconds between polls."""

LONGEST_WAIT = 600.0


def run(_: DemoContext) -> None:
    """Run this part."""
    alerts: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="kwire-demo-") as folder, FakeCluster(brokers=3, topics=20) as cluster:
        capture = f"{folder}/capture"
        pipeline = Pipeline(SparkSession.builder.getOrCreate, f"{folder}/out")  # so little data starts no session
        with webhook(alerts) as url, BackgroundPolling(cluster.bootstrap, capture, INTERVAL):
            wait(lambda: any(Path(capture).glob("_tail-*")), "the first polls")
            live = LiveGold(pipeline, INTERVAL, IncidentPublisher(pipeline, [WebhookSink(url)]))
            with step("frames ingested, and a first build of gold"):
                pipeline.ingest_capture(capture)
                live.build()
            cluster.stop_broker(2, fence=False)
            stopped = time.perf_counter()
            print_line("           broker 2 stopped without a word to the others")

            def arrived() -> bool:
                pipeline.ingest_capture(capture)
                live.build()
                return any(alert["labels"].get("broker_id") == "2" for alert in alerts)

            wait(arrived, "the incident in the webhook")
            seconds = time.perf_counter() - stopped
            live.close()
    alert = next(alert for alert in alerts if alert["labels"].get("broker_id") == "2")
    print_line(f"  {paint('quiet', f'{seconds:5.1f} s')}  the webhook got an alert, {alert['status']}:")
    print_line(f"           {paint('error', alert['annotations']['summary'])}: {alert['annotations']['description']}")


@contextmanager
def webhook(alerts: list[dict[str, Any]]) -> Iterator[str]:
    """Run a webhook on this machine that keeps what it receives, and yield its URL."""

    def receive(request: BaseHTTPRequestHandler) -> None:
        alerts.extend(json.loads(request.rfile.read(int(request.headers["Content-Length"])))["alerts"])
        request.send_response(200)
        request.end_headers()

    def log_nothing(*_: object) -> None:
        pass

    handler = type("Handler", (BaseHTTPRequestHandler,), {"do_POST": receive, "log_message": log_nothing})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, name="webhook")
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/alerts"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wait(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition.

    Raises:
        TimeoutError: it did not become true.
    """
    deadline = time.monotonic() + LONGEST_WAIT
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {LONGEST_WAIT:.0f} s: {what}")
        time.sleep(0.2)
