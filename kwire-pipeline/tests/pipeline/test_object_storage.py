"""Tables on S3, served by moto, and on HDFS; and how places are spelled."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from kwire.capture import NotACapture, UploadConflict, replay, segments
from kwire.capture.upload import upload
from kwire.cli.program import run
from kwire.storage.location import Location, UnsupportedLocation
from kwire.testing import FakeCluster
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.sinks import IncidentNotice, Ledger, NoticeStatus
from kwire_pipeline.sinks.ledger_owner import LEASE, TAKEOVER, LedgerInUse, LedgerOwnership
from kwire_pipeline.source.capture_readers import rows_in_capture
from kwire_pipeline.source.live_source import BackgroundPolling
from kwire_pipeline.store import maintenance
from kwire_pipeline.store.commits import PipelineStore
from tests.object_storage import s3_server
from tests.pipeline.bronze_rows import response, table, topic
from tests.pipeline.ingest.test_capture_ingest import assert_history, captured, streamed
from tests.pipeline.store.test_commits import clusters, commit, everywhere
from tests.pipeline.test_pipeline_command import COMMAND, finished, spark_environment
from tests.real_kafka.jars import jars_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

COMMITS = 2


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return a URI in S3 that does not exist yet."""
    with s3_server(monkeypatch) as bucket:
        yield f"{bucket}/kafka"


@pytest.fixture(scope="module")
def name_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URI of an HDFS with one data node."""
    jars = jars_of(Path(__file__).with_name("hdfs.xml"))
    options = ["-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    port, token = launch_gateway(
        classpath=str(jars / "*"),
        javaopts=options,
        die_on_exit=True,
        enable_auth=True,
        redirect_stdout=subprocess.DEVNULL,
        redirect_stderr=subprocess.DEVNULL,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        hadoop = gateway.jvm.org.apache.hadoop
        settings = hadoop.conf.Configuration()
        settings.set("hdfs.minidfs.basedir", str(tmp_path_factory.mktemp("hdfs")))
        cluster = hadoop.hdfs.MiniDFSCluster.Builder(settings).numDataNodes(1).build()
        cluster.waitActive()
        yield cluster.getURI().toString()
        cluster.shutdown()
    finally:
        gateway.shutdown()


@pytest.fixture
def hdfs(name_node: str, tmp_path: Path) -> str:
    """Return a URI in HDFS that does not exist yet."""
    return f"{name_node}/{tmp_path.name}"


def _commit_all(out: str, name: str) -> None:
    store = PipelineStore(out)
    for number in range(COMMITS):
        commit(store, f"{name}{number}")


@pytest.mark.parametrize("storage", ["s3", pytest.param("hdfs", marks=pytest.mark.programs)])
def test_two_processes_write_to_shared_storage(storage: str, request: pytest.FixtureRequest) -> None:
    out: str = request.getfixturevalue(storage)
    store = PipelineStore(out)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_commit_all, args=(out, name)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    names = [f"{name}{number}" for name in "ab" for number in range(COMMITS)]

    assert [writer.exitcode for writer in writers] == [0, 0]
    assert clusters(store) == everywhere(*names)
    assert maintenance.optimize(store) > 0
    assert maintenance.vacuum(store, timedelta(0)) > 0
    assert clusters(PipelineStore(out.replace("s3a:", "s3:"))) == everywhere(*names)


@pytest.mark.programs
@pytest.mark.usefixtures("one_shuffle_partition")
def test_pipeline_and_report_run_on_hdfs(
    spark: SparkSession, hdfs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = Pipeline(spark, hdfs)
    page = str(tmp_path / "page.html")

    report = pipeline.ingest(table(spark, tmp_path / "bronze", response(0, topic("a")), response(1, topic("b"))))

    assert report.rows["polls"] == 2
    assert [row.topic for row in pipeline.table("partitions").where("change = 'gone'").collect()] == ["a"]
    pipeline.gold()
    assert run(["report", page, "--gold", hdfs]) == 0
    assert page in capsys.readouterr().out
    assert run(["report", page, "--gold", f"{hdfs}-other"]) == 2
    assert f"{hdfs}-other does not exist" in capsys.readouterr().err


@pytest.mark.programs
@pytest.mark.usefixtures("one_shuffle_partition")
def test_uploaded_capture_is_ingested_and_streamed(spark: SparkSession, hdfs: str, tmp_path: Path) -> None:
    folder, out, place = tmp_path / "capture", tmp_path / "out", hdfs
    pipeline = Pipeline(spark, str(out))

    captured(folder, 0, 300)
    uploaded = [upload(str(folder), place), upload(str(folder), place)]
    first = pipeline.ingest_capture(place)
    captured(folder, 300, 500)
    uploaded.append(upload(str(folder), place))
    again = pipeline.ingest_capture(place)
    assert_history(out, 500)
    captured(folder, 500, 600)
    upload(str(folder), place)
    [*_, last] = streamed(pipeline, place)

    assert uploaded == [1, 0, 1]
    assert (first.rows["polls"], again.rows["polls"], last.rows["polls"]) == (300, 200, 100)
    assert_history(out, 600)


def test_cluster_is_captured_into_object_store_also_from_another_machine(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Location.parse(f"{s3}/capture").native
    with FakeCluster(brokers=2) as cluster:
        for machine in ("first", "second"):
            monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / machine))
            with BackgroundPolling(cluster.bootstrap, place, 0.05, part_seconds=0.2) as polling:
                assert polling.wait_until_readable(60)
            assert len(segments(Path(polling.folder))) == 1  # what is uploaded is deleted here

    uploaded = segments(place)
    rows = list(replay(place))
    numbers = [segment.first_row for segment in uploaded]
    assert numbers == sorted(set(numbers))
    assert len({(row.polled_at, row.endpoint) for row in rows}) == len(rows) > 4
    assert rows_in_capture(place) == len(rows)


def test_other_capture_is_not_uploaded_to_same_place(s3: str, tmp_path: Path) -> None:
    upload(captured(tmp_path / "first", 0, 10), s3)

    with pytest.raises(UploadConflict, match=f"{s3} has another capture: part-"):
        upload(captured(tmp_path / "second", 5, 20), s3)


def test_segment_that_cannot_be_read_to_its_end_is_not_uploaded(s3: str, tmp_path: Path) -> None:
    place = f"{s3}/incomplete"
    [segment] = segments(captured(tmp_path / "capture", 0, 10))
    content = segment.path.read_bytes()
    segment.path.unlink()
    segment.path.symlink_to("/proc/self/mem")  # can be opened, and fails to be read

    with pytest.raises(OSError, match="Input/output error"):
        upload(str(tmp_path / "capture"), place)
    with pytest.raises(NotACapture):
        segments(place)

    segment.path.unlink()
    segment.path.write_bytes(content)
    assert upload(str(tmp_path / "capture"), place) == 1
    assert len(list(replay(place))) == 10


@pytest.mark.usefixtures("s3")
def test_error_of_an_object_store_is_one_line() -> None:
    with pytest.raises(OSError, match="NoSuchBucket") as raised:
        segments("s3://no-such-bucket/capture")

    assert str(raised.value).isprintable()


@pytest.mark.programs
def test_pipeline_command_captures_cluster_into_hdfs(hdfs: str, tmp_path: Path) -> None:
    with FakeCluster(brokers=2, topics=3) as cluster:
        arguments = ["--bootstrap", cluster.bootstrap, "--out", hdfs, "--stream", "--seconds", "2", "--interval", "0.2"]
        environment = spark_environment(tmp_path) | {"XDG_STATE_HOME": str(tmp_path)}
        done = finished([*COMMAND, *arguments], environment, tmp_path)

    assert f", uploaded to {hdfs}/capture" in done.stdout
    polls = PipelineStore(hdfs).snapshot().dataset("silver/polls")
    assert polls is not None
    assert polls.count_rows() == rows_in_capture(f"{hdfs}/capture") > 4


@pytest.mark.parametrize(
    ("given", "spark", "native"),
    [
        ("/data/x", "/data/x", "/data/x"),
        ("file:/data/a%20b", "/data/a b", "/data/a b"),
        ("file:///data/x/", "/data/x", "/data/x"),
        ("s3a://bucket/x/", "s3a://bucket/x", "s3://bucket/x"),
        ("s3://bucket/x", "s3a://bucket/x", "s3://bucket/x"),
        ("hdfs://host:9000/x", "hdfs://host:9000/x", "hdfs://host:9000/x"),
        (
            "abfss://c@a.dfs.core.windows.net/x",
            "abfss://c@a.dfs.core.windows.net/x",
            "abfss://c@a.dfs.core.windows.net/x",
        ),
        ("gs://bucket/x", "gs://bucket/x", "gs://bucket/x"),
        ("dbfs:/x", "dbfs:/x", "/dbfs/x"),
    ],
)
def test_place_is_spelled_for_spark_and_delta(given: str, spark: str, native: str) -> None:
    assert (Location.parse(given).spark, Location.parse(given).native) == (spark, native)


def test_relative_path_belongs_to_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert Location.parse("out").native == str(tmp_path / "out")


@pytest.mark.parametrize("given", ["http://host/x", "hive:x", "/data/a%20b"])
def test_unsupported_place_is_rejected(given: str) -> None:
    with pytest.raises(UnsupportedLocation, match=given):
        Location.parse(given)


def test_lease_of_a_ledger_on_s3_has_one_owner_and_its_successor_continues(s3: str) -> None:
    """The first owner stands still, the second takes over, and the first one notices when it runs again."""
    seconds = [1000.0]
    first, second, third = (LedgerOwnership(s3, "sink", lambda: seconds[0]) for _ in range(3))
    at = datetime(2026, 11, 21, tzinfo=UTC)
    row = {"incident_id": "a", "cluster_id": "c", "kind": "broker_killed", "broker_id": 2, "ended_at": None}
    notice = IncidentNotice(NoticeStatus.FIRING, row | {"began_at": at, "first_sign_at": at, "caused_by": None})

    first.acquire()
    ledger = Ledger(s3, "sink", first.number)
    ledger.start(at)
    ledger.begin(notice)
    ledger.confirm(notice)
    ledger.save()
    with pytest.raises(LedgerInUse, match=rf"sink: process {os.getpid()} on .* sends the notices of this sink"):
        second.acquire()
    seconds[0] += LEASE
    assert not first.is_valid
    seconds[0] += TAKEOVER - LEASE - 1
    with pytest.raises(LedgerInUse):
        second.acquire()
    seconds[0] += 1
    second.acquire()
    continued = Ledger(s3, "sink", second.number)
    continued.begin(notice)
    continued.save()

    ledger.confirm(notice)
    ledger.save()  # of the first owner: this write is not read any more
    first.release()
    assert (first.is_valid, second.is_valid) == (False, True)
    assert not continued.is_new
    assert Ledger(s3, "sink", None).alert_counts == {"unconfirmed": 1}
    with pytest.raises(LedgerInUse):
        third.acquire()
    second.release()
    third.acquire()
    third.release()
