"""The whole live pipeline is killed at random moments while a recording plays: stream, builds of gold, and a webhook.

The recording is appended to a capture in parts. Each part ends when the signs of all incidents in it have been seen, as
on a live cluster, where an incident is sent only when its first sign is five seconds old.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from kwire.capture import Capture
from kwire_pipeline import gold
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.sinks import IncidentNotice, NoticeStatus
from kwire_pipeline.sinks.delivery import SinkDelivery
from kwire_pipeline.sinks.payloads import alertmanager_payload
from kwire_pipeline.sinks.subscription import TROUBLE
from kwire_pipeline.sinks.webhook import WebhookSink
from tests.cluster.repetitions import random_times, rounds
from tests.eventually import eventually_sync
from tests.pipeline.recorded import bronze
from tests.pipeline.test_pipeline import RECORDING, expected, silver
from tests.pipeline.test_pipeline_command import MODULE, STATE, last_commit, spark_environment, stored
from tests.pipeline.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

    from pyspark.sql import SparkSession

    from kwire.capture.rows import Row

pytestmark = pytest.mark.programs

ENDS = (30, 62, 76, 90)
"""Seconds of the recording at which parts end; the last one has the return of a killed broker."""

FACTS = ("status", "startsAt", "endsAt")


def parts() -> list[list[Row]]:
    """Return the rows until each of `ENDS`."""
    rows = bronze(RECORDING)
    times = [rows[0].polled_at + timedelta(seconds=end) for end in (0, *ENDS)]
    return [[row for row in rows if start <= row.polled_at < end] for start, end in pairwise(times)]


@contextmanager
def running(folder: Path, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a live pipeline, and kill all its processes at the end of the block."""
    command = [*MODULE, "--capture", "capture", "--out", "out", "--stream", "--every", "0.1", "--gold-every", "1s"]
    with (folder / "log").open("ab") as log:
        driver = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdout=log,
            stderr=log,
            env=spark_environment(folder),
            cwd=folder,
            start_new_session=True,
        )
    try:
        yield driver
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def play_and_kill(folder: Path, webhook: Webhook, chance: Random) -> None:
    """Append the recording, while the pipeline is killed after a commit and after a notice, and then ends by itself."""
    first, *middle, last = parts()
    out = folder / "out"
    began = SinkDelivery(str(out), WebhookSink(webhook.url), first[0].polled_at)  # or the recording would be history
    began.open()
    began.release()
    with Capture(folder / "capture", roll_bytes=300_000, roll_seconds=1e9) as capture:
        with running(folder, "--notify", webhook.url) as driver:
            capture.append_many(first)
            eventually_sync(lambda: last_commit(out) > 0, "a commit", within=200)
            time.sleep(chance.uniform(0, 3))
            assert driver.poll() is None, (folder / "log").read_text()
        with running(folder, "--notify", webhook.url) as driver:
            heard = len(webhook.bodies)
            for part in middle:
                capture.append_many(part)
                time.sleep(chance.uniform(0, 1))
            eventually_sync(lambda: len(webhook.bodies) > heard, "a notice", within=200)
            time.sleep(chance.uniform(0, 1))
            assert driver.poll() is None, (folder / "log").read_text()
        capture.append_many(last)
    with running(folder, "--notify", webhook.url, "--seconds", "0.1") as driver:
        assert driver.wait(300) == 0, (folder / "log").read_text()


@pytest.mark.usefixtures("one_shuffle_partition")
@pytest.mark.parametrize("number", rounds(1))
def test_killed_pipeline_ends_as_if_undisturbed(spark: SparkSession, tmp_path: Path, number: int) -> None:
    webhook = Webhook()
    try:
        play_and_kill(tmp_path, webhook, random_times(f"killed pipeline {number}"))
    finally:
        webhook.close()
    undisturbed = Pipeline(spark, str(tmp_path / "undisturbed"))
    undisturbed.ingest_capture(str(tmp_path / "capture"))
    undisturbed.gold()

    rows = [row for part in parts() for row in part]
    made, wanted = silver(tmp_path / "out"), expected(rows)
    assert {name: made[name] for name in STATE} == {name: wanted[name] for name in STATE}
    assert sum(made["polls"].values()) == len(rows)
    for table in gold.TABLES:
        assert gold_rows(tmp_path / "out", table.name) == gold_rows(tmp_path / "undisturbed", table.name), table.name
    for contents in webhook.contents.values():
        assert len(set(contents)) == 1  # a notice that is repeated after a kill has the same bytes
    incidents = stored(tmp_path / "out", "incidents").to_pylist()
    assert len(incidents) > 5
    assert resolved(webhook) == Counter(alert_of(row) for row in incidents if TROUBLE.accepts(row))


def gold_rows(out: Path, name: str) -> list[str]:
    """Return the rows of a table as texts, without the order of the values that have none."""
    rows = stored(out, name).drop_columns(["date", "hour"]).to_pylist()
    for row in rows:
        if row.get("partition_hashes") is not None:
            row["partition_hashes"].sort()
        for column, value in row.items():
            if isinstance(value, float):
                row[column] = round(value, 6)  # a mean depends on the order of its rows
    return sorted(map(repr, rows))


def alert_of(incident: dict[str, Any]) -> tuple[str, ...]:
    """Return the facts of an incident that has ended, as a webhook receives them."""
    row = incident | {"attributes": dict(incident["attributes"] or ())}
    return facts(alertmanager_payload(IncidentNotice(NoticeStatus.RESOLVED, row)))


def facts(body: dict[str, Any]) -> tuple[str, ...]:
    [alert] = body["alerts"]
    return (*(alert[name] for name in FACTS), alert["annotations"]["summary"])


def resolved(webhook: Webhook) -> Counter[tuple[str, ...]]:
    """Return the facts of all alerts that ended and were not withdrawn; of one that ended several times, the last."""
    last: dict[str, tuple[str, ...]] = {}
    for contents in webhook.contents.values():
        body = json.loads(contents[0])
        [alert] = body["alerts"]
        if body["status"] == "resolved" and "withdrawn" not in alert["annotations"]:
            last[alert["fingerprint"]] = facts(body)
    return Counter(last.values())
