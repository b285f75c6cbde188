"""A live job continues after errors that pass, and ends with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from deltalake.exceptions import DeltaError
from pyspark.errors import PySparkException

from kwire.capture import Capture
from kwire_pipeline.live.backoff import LONGEST_PAUSE_S, SPARK_ATTEMPTS, Backoff
from kwire_pipeline.live.capture_streams import CaptureStreams
from kwire_pipeline.live.live_gold import LiveGold
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.sinks import IncidentPublisher
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import MissingFiles, StoreInUse
from tests.pipeline.recorded import bronze
from tests.pipeline.test_pipeline import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire_pipeline.ingest.ingest_report import IngestReport

pytestmark = pytest.mark.nightly

ROWS = bronze(RECORDING)[:100]


@pytest.mark.parametrize(
    "error",
    [StoreInUse("out", "busy"), MissingFiles("out", "a"), OSError("503"), DeltaError("503"), PySparkException("lost")],
)
def test_pause_doubles_up_to_a_minute_and_is_short_again_after_success(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    backoff = Backoff("the build of gold")

    assert [backoff.pause_after(error) for _ in range(9)] == [1, 2, 4, 8, 16, 32, *[LONGEST_PAUSE_S] * 3]
    backoff.reset()
    assert backoff.pause_after(error) == 1
    assert caplog.messages[0].startswith("the build of gold failed, next attempt in 1 s: ")


def test_errors_of_spark_end_the_job_when_they_do_not_pass() -> None:
    backoff = Backoff("the stream")
    error = PySparkException("job aborted")
    for _ in range(SPARK_ATTEMPTS - 1):
        backoff.pause_after(error)

    with pytest.raises(PySparkException):
        backoff.pause_after(error)


def fail_calls(monkeypatch: pytest.MonkeyPatch, method: str, *errors: Exception) -> None:
    """Let the next calls of a method of the store fail."""
    original = getattr(PipelineStore, method)
    left = list(errors)

    def fail(store: PipelineStore, argument: object) -> object:
        if left:
            raise left.pop(0)
        return original(store, argument)

    monkeypatch.setattr(PipelineStore, method, fail)


@pytest.mark.usefixtures("one_shuffle_partition")
def test_live_gold_is_built_again_after_a_pause_in_a_session_of_another_time_zone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Capture(tmp_path / "capture") as capture:
        capture.append_many(ROWS)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest_capture(str(tmp_path / "capture"))
    live = LiveGold(pipeline, 0.0, IncidentPublisher(pipeline, []))
    # As a transaction begins: each build that reaches its commit takes seconds.
    fail_calls(monkeypatch, "transact", StoreInUse("out", "busy"), PermissionError("out"))

    live.build_if_due()
    assert "the build of gold failed, next attempt in 1 s: out: busy" in caplog.messages
    assert live.seconds_left() <= 1
    monkeypatch.setattr(live, "seconds_left", lambda: 0.0)
    with pytest.raises(PermissionError):
        live.build_if_due()
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        live.build_if_due()
        assert spark.conf.get("spark.sql.session.timeZone") == "Europe/Berlin"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    live.close()
    assert pipeline.table("intervals").count() > 0


def test_stream_that_fails_continues_after_a_pause(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ingested(Exception):
        pass

    reports: list[IngestReport] = []

    def check() -> None:
        if reports:
            raise Ingested

    with Capture(tmp_path / "capture") as capture:
        capture.append_many(ROWS)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    fail_calls(monkeypatch, "commit", OSError("the storage does not respond"))
    streams = CaptureStreams(pipeline, [str(tmp_path / "capture")], 0.1, reports.append)
    with pytest.raises(Ingested):
        streams.wait(240, check)
    streams.finish()

    assert pipeline.table("polls").count() == len(ROWS)


def test_stream_that_fails_at_the_end_of_a_job_continues(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Capture(tmp_path / "capture") as capture:
        capture.append_many(ROWS)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    fail_calls(monkeypatch, "commit", OSError("the storage does not respond"))
    CaptureStreams(pipeline, [str(tmp_path / "capture")], 0.1, lambda _: None).finish()

    assert pipeline.table("polls").count() == len(ROWS)
    assert not spark.streams.active
