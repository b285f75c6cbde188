"""`kwire pipeline`: with spark-submit, on a live cluster, on captures, and killed during a stream."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import kwire_pipeline.pipeline
from kwire.capture import SCHEMA, Capture
from kwire.cli.program import run
from kwire.testing import FakeCluster
from kwire_pipeline.live.capture_streams import stream_name
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.sinks import IncidentNotice, Ledger, NoticeStatus
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import NotAStore
from tests.eventually import eventually_sync
from tests.pipeline.recorded import RECORDINGS, bronze
from tests.pipeline.test_pipeline import RECORDING, TABLES, expected, silver
from tests.pipeline.webhook import Webhook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire.capture.rows import Row

COMMAND = [sys.executable, "-m", "kwire", "pipeline", "ingest"]
MODULE = [sys.executable, "-m", "kwire_pipeline.pipeline", "ingest"]
ROWS = bronze(RECORDING)[:700]
STATE = [name for name in TABLES if name != "polls"]  # a capture has 'same' rows where a recording repeats frames


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return spark_environment(tmp_path)


def spark_environment(folder: Path) -> dict[str, str]:
    """Return environment variables with a Spark configuration that starts fast, which is written to a folder."""
    conf = folder / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "spark-defaults.conf").write_text(
        "spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n"
        "spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n"
        "spark.sql.shuffle.partitions 2\n"
        "spark.sql.adaptive.enabled false\n"
        "spark.sql.codegen.factoryMode NO_CODEGEN\n"
        "spark.sql.codegen.wholeStage false\n"
        "spark.ui.enabled false\n"
    )
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    return own | {"SPARK_CONF_DIR": str(conf), "SPARK_LOCAL_IP": "127.0.0.1", "TZ": "America/New_York"}


def finished(arguments: list[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program and check that it succeeds."""
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=540, check=False, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.programs
def test_spark_submit_runs_pipeline_in_executors(tmp_path: Path, environment: dict[str, str]) -> None:
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local-cluster[2,1,600]"]
    recording, out = RECORDINGS / f"{RECORDING}.parquet", tmp_path / "out"

    done = finished(
        [
            *submit,
            "--conf",
            "spark.executor.memory=600m",
            str(kwire_pipeline.pipeline.__file__),
            "ingest",
            "--recording",
            str(recording),
            "--out",
            str(out),
            "--gold",
        ],
        environment | {"PYSPARK_PYTHON": sys.executable},
        tmp_path,
    )

    assert "Granted executor ID app-" in done.stderr  # it did not run in the driver
    assert "polls 1,268 rows; 0 bad frames, 0 late, 0 repeated" in done.stdout
    [cluster] = stored(out, "polls")["cluster_id"].unique().to_pylist()
    assert silver(out) == expected(row._replace(cluster_id=cluster) for row in bronze(RECORDING))
    assert set(SCHEMA.names) <= set(pq.read_table(out / "bronze").schema.names)
    assert "broker_killed" in stored(out, "incidents")["kind"].to_pylist()


def has_intervals(out: Path) -> bool:
    """Return whether gold was built; another process may be creating the tables."""
    try:
        found = PipelineStore(str(out), create=False).snapshot().dataset("gold/intervals")
    except NotAStore:
        return False
    return found is not None and found.count_rows() > 0


def outages(webhook: Webhook) -> dict[str, list[str]]:
    """Return the statuses of the notices about each incident of broker 2, in their order.

    A poller without a processor for seconds sees a broker as silent before it is stopped.
    """
    statuses: dict[str, list[str]] = {}
    for body in list(webhook.bodies):
        if body["commonLabels"].get("broker_id") == "2":
            statuses.setdefault(body["groupKey"], []).append(body["status"])
    return statuses


@pytest.mark.programs
def test_live_cluster_is_streamed_to_gold_and_sinks(tmp_path: Path, environment: dict[str, str]) -> None:
    out = tmp_path / "out"
    webhook = Webhook()
    with FakeCluster(brokers=2, topics=30, partitions=4) as cluster:
        how = ["--stream", "--every", "0.5", "--interval", "0.2", "--gold-every", "1s", "--notify", webhook.url]
        running = subprocess.Popen(
            [*COMMAND, "--bootstrap", cluster.bootstrap, "--out", str(out), *how],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        try:
            eventually_sync(lambda: has_intervals(out), "a build of gold", within=500)
            cluster.stop_broker(2)
            eventually_sync(lambda: ["firing"] in outages(webhook).values(), "the outage in the webhook", within=500)
            running.send_signal(signal.SIGINT)
            printed, _ = running.communicate(timeout=200)
        finally:
            running.kill()
            webhook.close()

    assert running.returncode == 0, printed
    assert ["firing"] in outages(webhook).values()  # broker 2 stays down
    assert all(statuses in (["firing"], ["firing", "resolved"]) for statuses in outages(webhook).values())
    reported = stored(out, "partitions").select(["broker_id", "topic", "partition"])
    assert reported.group_by(reported.column_names).aggregate([]).num_rows == 2 * 30 * 4
    assert stored(out, "polls").num_rows > 10


@pytest.mark.programs
def test_several_captures_are_streamed_completely(tmp_path: Path, environment: dict[str, str]) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for number, folder in enumerate(folders):
        with Capture(folder) as capture:
            capture.append_many([row._replace(cluster_id=f"cluster-{number}") for row in ROWS[:200]])
    out = tmp_path / "out"

    captures = ["--capture", str(folders[0]), "--capture", str(folders[1])]
    how = ["--stream", "--seconds", "0.1", "--every", "1"]
    finished([*COMMAND, *captures, "--out", str(out), *how], environment, tmp_path)

    assert Counter(stored(out, "polls")["cluster_id"].to_pylist()) == {
        "cluster-0": 200,
        "cluster-1": 200,
    }


@pytest.mark.programs
def test_unreachable_cluster_is_error(tmp_path: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [*MODULE, "--bootstrap", "127.0.0.1:1", "--out", (tmp_path / "out").as_uri(), "--seconds", "1"],
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
        env=environment,
        cwd=tmp_path,
    )

    assert done.returncode == 1
    assert "no broker responded: 127.0.0.1:1" in done.stderr.splitlines()[-1]
    assert (tmp_path / "out" / "capture").is_dir()  # the URI is not used as a relative path
    # Spark 4.0 makes `artifacts`.
    assert {path.name for path in tmp_path.iterdir()} <= {"artifacts", "conf", "out", "spark-warehouse"}


def test_status_shows_dead_letters_of_sinks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    PipelineStore(str(tmp_path))
    at = datetime(2026, 11, 21, tzinfo=UTC)
    row = {"incident_id": "a", "cluster_id": "c", "kind": "config_changed", "broker_id": None, "ended_at": None}
    notice = IncidentNotice(NoticeStatus.FIRING, row | {"began_at": at, "first_sign_at": at, "caused_by": None})
    ledger = Ledger(str(tmp_path), "webhook-1")
    ledger.begin(notice)
    ledger.bury(notice, "HTTP status 422")
    ledger.save()

    assert run(["pipeline", "status", "--out", str(tmp_path)]) == 0
    summary, letter = capsys.readouterr().out.splitlines()
    assert summary == "webhook-1: 1 refused, 1 dead letters"
    assert letter.endswith("firing config_changed a: 'HTTP status 422' after 1 attempt")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--recording", "none.parquet", "--out", "out"], "none.parquet does not exist"),
        (["--recording", "text", "--out", "out"], "text is not a Parquet file"),
        (["--capture", "none", "--out", "out"], "none: the folder does not exist"),
        (["--capture", ".", "--out", "text"], "text is a file"),
        (["--capture", ".", "--out", "text/below"], "text"),
        (["--capture", ".", "--out", "out", "--stream", "--every", "-1"], "-1.0 is not in the range x>0"),
        (["--bootstrap", "host:port", "--out", "out"], "'host:port' is not the address of a broker"),
        (["--out", "out"], "expected one of --recording, --capture, and --bootstrap"),
        (["--recording", "text", "--out", "out", "--stream"], "a recording does not grow"),
        (["--capture", ".", "--out", "out", "--groups", "9"], "--configs, --groups, --log-dirs need --bootstrap"),
        (["--capture", ".", "--out", "out", "--desired", "text"], "expected CLUSTER_ID=FILE, got 'text'"),
        (["--capture", ".", "--out", "out", "--desired", "c=text"], "text: expected the sections of a document"),
    ],
)
def test_invalid_options_are_rejected_before_spark_starts(
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPARK_ENV_LOADED", raising=False)
    (tmp_path / "text").write_text("not parquet")

    assert run(["pipeline", "ingest", *arguments]) == 2
    assert reason in capsys.readouterr().err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.programs
def test_killed_driver_loses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path, environment: dict[str, str]
) -> None:
    """A stream is killed at a random time while frames arrive; the next one ingests all of them exactly once."""
    out, folder = tmp_path / "out", tmp_path / "capture"
    rest = list(ROWS)
    with Capture(folder, roll_bytes=300_000, roll_seconds=1e9) as capture:
        driver = subprocess.Popen(
            [*MODULE, "--capture", str(folder), "--out", str(out), "--stream", "--every", "0.1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=tmp_path,
            start_new_session=True,
        )
        try:
            feed(capture, rest, out)
            capture.append_many(rest)
            time.sleep(random.uniform(0, 1))
            assert driver.poll() is None, "the driver ended by itself"
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()

    for _ in range(2):  # the first may only repeat the batch in progress
        frames = spark.readStream.format("kwire").load(str(folder))
        query = Pipeline(spark, str(out)).stream(frames, name=stream_name(str(folder)), availableNow=True)
        assert query.awaitTermination(300)

    made, wanted = silver(out), expected(ROWS)
    assert {name: made[name] for name in STATE} == {name: wanted[name] for name in STATE}
    assert sum(made["polls"].values()) == len(ROWS)


def feed(capture: Capture, rest: list[Row], out: Path) -> None:
    """Append rows three times, and wait each time until an ingest is committed."""
    for _ in range(3):
        before = last_commit(out)
        part, rest[:60] = rest[:60], []
        capture.append_many(part)
        wait_for_commit(out, before)


def wait_for_commit(out: Path, before: int) -> None:
    eventually_sync(lambda: last_commit(out) > before, "an ingest after the appended rows", within=180)


def last_commit(out: Path) -> int:
    """Return the number of the last ingest that is committed."""
    return PipelineStore(str(out)).snapshot().number if (out / "ingests" / "_delta_log").is_dir() else 0


def stored(out: Path, name: str) -> pa.Table:
    """Return a table after the last commit."""
    layer = "silver" if name in SILVER_SCHEMAS else "gold"
    found = PipelineStore(str(out)).snapshot().dataset(f"{layer}/{name}")
    assert found is not None
    return found.to_table()
