"""`kwire capture` polls into a folder until it is stopped."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from kwire.capture import Capture, Row, replay, segments
from kwire.testing import FakeCluster
from tests.cli.running import COMMAND, Running, environment
from tests.cli.running import kwire as run
from tests.eventually import eventually_sync


def polled(folder: Path) -> list[Row]:
    """Return the rows of a capture that possibly does not exist yet."""
    return list(replay(folder)) if list(folder.glob("_tail*")) else []


def test_capture_polls_every_broker(tmp_path: Path) -> None:
    def is_complete() -> bool:
        rows = polled(tmp_path)
        brokers, keys, kinds = ({getattr(row, name) for row in rows} for name in ("broker_id", "api_key", "kind"))
        return brokers >= {1, 2, 3} and keys == {3, 32} and kinds == {"full", "same"}

    with (
        FakeCluster(brokers=3, topics=5) as cluster,
        Running("capture", "-b", cluster.bootstrap, "--interval", "0.1", "--configs", "1", tmp_path) as capturing,
    ):
        eventually_sync(is_complete, "polls of every broker")
        capturing.process.send_signal(signal.SIGINT)
        out = capturing.stdout.read().decode()
        assert capturing.process.wait(60) == 0

    rows = list(replay(tmp_path))
    assert out.startswith(f"{len(rows)} polls: ")
    assert {row.api_key for row in rows} == {3, 32}
    assert {row.kind for row in rows} == {"full", "same"}
    assert all(file.is_closed for file in segments(tmp_path))


def test_capture_ends_after_the_duration_and_uploads_closed_segments(tmp_path: Path) -> None:
    with FakeCluster(topics=2) as cluster:
        done = run(
            "capture", "-b", cluster.bootstrap, "--duration", "5", "--upload", f"file://{tmp_path}/b", tmp_path / "a"
        )

    assert done.code == 0
    assert [file.path.name for file in segments(tmp_path / "b")] == [
        file.path.name for file in segments(tmp_path / "a")
    ]
    assert list(replay(tmp_path / "b")) == list(replay(tmp_path / "a"))


def test_unknown_place_of_upload_is_a_usage_error(tmp_path: Path) -> None:
    done = run("capture", "-b", "127.0.0.1:1", "--upload", "http://host/x", tmp_path)

    assert done.code == 2
    assert "expected a path or file:, s3a:" in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_the_capture_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with FakeCluster(topics=2) as cluster:
        command = [*COMMAND, "capture", "-b", cluster.bootstrap, "--interval", "0.05", "--one", str(tmp_path)]
        with subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            eventually_sync(lambda: len(polled(tmp_path)) > 5, "some polls")
            process.send_signal(number)
            out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert out.startswith(f"{len(list(replay(tmp_path)))} polls: ")
    assert all(file.is_closed for file in segments(tmp_path))


def test_folder_with_another_writer_is_rejected(tmp_path: Path) -> None:
    with Capture(tmp_path):
        done = run("capture", "-b", "127.0.0.1:1", "--duration", "1", tmp_path)

    assert done.code == 1
    assert "a capture has one writer at a time" in done.err


def test_unwritable_folder_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "_lock").mkdir(parents=True)

    for out, reason in (("file/out", "Not a directory"), ("taken", "Is a directory")):
        done = run("capture", "-b", "127.0.0.1:1", "--duration", "1", tmp_path / out)

        assert done.code == 1
        assert done.err == f"Error: cannot write to {tmp_path / out}: {reason}\n"


@pytest.mark.parametrize(
    ("bootstrap", "complaint"),
    [(",", "no bootstrap servers given"), ("\udcff\udcfe:9092", "is not the address of a broker: write host:port")],
    ids=["empty", "not text"],
)
def test_invalid_bootstrap_server_is_a_usage_error(tmp_path: Path, bootstrap: str, complaint: str) -> None:
    done = run("capture", "-b", bootstrap, "--duration", "1", tmp_path)

    assert done.code == 2
    assert complaint in " ".join(done.err.split())


def test_capture_that_no_broker_ever_answered_says_why_and_fails(tmp_path: Path) -> None:
    for host, reason in (("a.invalid:9092", "a.invalid:9092: cannot connect"), ("127.0.0.1:1", "Connection refused")):
        done = run("capture", "-b", host, "--duration", "1", tmp_path / host)

        assert done.code == 3
        assert f"no answer: {host}: " in done.err
        assert "Error: no broker has answered: " in done.err
        assert reason in done.err
        assert {row.endpoint for row in replay(tmp_path / host)} == {host}
        assert {row.kind for row in replay(tmp_path / host)} == {"error"}


def test_broker_that_stops_answering_is_reported_once_and_when_it_answers_again(tmp_path: Path) -> None:
    with FakeCluster(brokers=2, topics=2) as cluster:
        address = cluster.bootstrap.split(",")[1]
        command = ("capture", "-b", cluster.bootstrap, "--interval", "0.05", tmp_path)
        with Running(*command) as running:
            assert running.stderr.readline().startswith(b"polling ")
            eventually_sync(lambda: {1, 2} <= {row.broker_id for row in replay(tmp_path)}, "polls of both")
            cluster.stop_broker(2)
            while "cannot connect" not in (line := running.stderr.readline().decode()):
                assert line.startswith(f"no answer: {address}: ")
            cluster.start_broker(2)
            while line != f"answers again: {address}\n":
                line = running.stderr.readline().decode()
                assert line
            running.process.send_signal(signal.SIGINT)
            assert running.process.wait(60) == 0


def test_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("text", encoding="utf-8")

    done = run("capture", "-b", "127.0.0.1:1", "--duration", "1", tmp_path)

    assert done.code == 1
    assert done.err == f"Error: {tmp_path}: the folder is neither empty nor a capture: it contains 'thesis.txt'\n"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_named_cluster_is_captured(tmp_path: Path) -> None:
    with FakeCluster(topics=2) as cluster:
        config = tmp_path / "config.toml"
        config.write_text(f'[clusters.dev]\nbootstrap = "{cluster.bootstrap}"\n', encoding="utf-8")
        done = run("capture", "-c", "dev", "--duration", "5", tmp_path / "out", KWIRE_CONFIG=str(config))

    assert done.code == 0, done.err
    assert list(replay(tmp_path / "out"))


@pytest.mark.parametrize("option", ["--interval", "--duration", "--configs"])
@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_invalid_seconds_are_a_usage_error(tmp_path: Path, option: str, number: str) -> None:
    done = run("capture", "-b", "127.0.0.1:1", "--duration", "1", option, number, tmp_path / "out")

    assert done.code == 2
    assert number in done.err
    assert not (tmp_path / "out").exists()
