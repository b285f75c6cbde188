"""`kwire replay` lists changes from a capture or a table of frames."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire.capture import Capture, from_table, segments
from kwire.capture.rows import to_rows
from kwire.capture.upload import upload
from kwire.storage.location import Location
from tests.capture.sample_rows import at, error_row, metadata, response_row
from tests.cli.running import DATA, Run
from tests.cli.running import kwire as run
from tests.object_storage import s3_server

TAPES = DATA / "tapes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Capture(tmp_path, roll_bytes=1) as capture:
        capture.append(response_row(0, metadata(1, 2)))
        capture.append(response_row(1, metadata(1, 2)))
        capture.append(response_row(2, metadata(1, 3)))
        capture.append(error_row(3))
        capture.append(error_row(4))
        capture.append(response_row(5, metadata(brokers=(1, 2))))
        capture.append(response_row(7, metadata(brokers=(1, 2))))
        capture.append(response_row(8, metadata(1))._replace(frame=b"\x00\x00\x00\x01garbage"))
        capture.append(response_row(9, metadata(1), broker=2))
    return tmp_path


def test_changes_and_failed_polls_are_listed_once(folder: Path) -> None:
    assert run("replay", folder).out.splitlines() == [
        "2026-11-21 14:00:02.000  broker 1  topic-1-0: leader moved from 2 to 3",
        "2026-11-21 14:00:02.000  broker 1  topic-1-0: ISR shrank to [3] without [2]",
        "2026-11-21 14:00:02.000  broker 1  topic-1-0: ISR expanded to [3] with [3]",
        "2026-11-21 14:00:02.000  broker 1  topic-1-1: leader moved from 2 to 3",
        "2026-11-21 14:00:02.000  broker 1  topic-1-1: ISR shrank to [3] without [2]",
        "2026-11-21 14:00:02.000  broker 1  topic-1-1: ISR expanded to [3] with [3]",
        "2026-11-21 14:00:03.000  broker 1  no response: response: no answer within 2.0 s",
        "2026-11-21 14:00:05.000  broker 1  responds again",
        "2026-11-21 14:00:05.000  broker 1  empty response, not yet confirmed",
        "2026-11-21 14:00:07.000  broker 1  broker 3 left",  # confirmed after more than a second
        "2026-11-21 14:00:07.000  broker 1  topic topic-0 removed",
        "2026-11-21 14:00:07.000  broker 1  topic topic-1 removed",
        (
            "2026-11-21 14:00:08.000  broker 1  invalid response: "
            "count_exceeds_input at byte 4: 206 bytes wanted, 6 left"
        ),
        "9 polls: 5 full, 2 unchanged, 2 failed",
    ]


def test_window_knows_the_state_before_it(folder: Path) -> None:
    lines = run("replay", folder, "--since", "2026-11-21T14:00:02", "--until", "2026-11-21T14:00:03").out.splitlines()

    assert len(lines) == 7
    assert lines[0] == "2026-11-21 14:00:02.000  broker 1  topic-1-0: leader moved from 2 to 3"
    assert lines[-1] == "1 poll: 1 full, 0 unchanged, 0 failed"


def test_json_output_has_a_line_for_each_event(folder: Path) -> None:
    events = [json.loads(line) for line in run("replay", folder, "-o", "json", "--broker", "1").out.splitlines()]

    assert events[0] == {
        "at": "2026-11-21T14:00:02+00:00",
        "broker": 1,
        "endpoint": "127.0.0.1:9001",
        "what": "LeaderMoved",
        "topic": "topic-1",
        "partition": 0,
        "before": 2,
        "after": 3,
        "before_epoch": 2,
        "after_epoch": 3,
    }
    assert Counter(event["what"] for event in events)["Unreachable"] == 1


@pytest.mark.parametrize("since", ["2026-11-21T14:00:02.000000+00:00", "2026-11-21T14:00:02Z", "20261121T150002+0100"])
def test_times_may_have_any_iso_8601_form(folder: Path, since: str) -> None:
    events = [json.loads(line) for line in run("replay", folder, "-o", "json", "--since", since).out.splitlines()]

    assert events[0]["at"] == "2026-11-21T14:00:02+00:00"


def test_invalid_time_is_a_usage_error(folder: Path) -> None:
    done = run("replay", folder, "--until", "noon")

    assert (done.code, done.out) == (2, "")
    assert "'noon' is not a valid time: expected 2026-11-21T14:05" in done.err


@pytest.mark.parametrize("speed", ["nan", "inf", "0"])
def test_invalid_speed_is_a_usage_error(folder: Path, speed: str) -> None:
    assert run("replay", folder, "--speed", speed).code == 2


def test_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    done = run("replay", tmp_path / "nowhere")

    assert (done.code, done.out) == (2, "")
    assert "does not exist" in done.err


def test_capture_and_table_in_object_store_list_same_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = run("replay", folder, "--since", "2026-11-21T14:00:02").out
    with s3_server(monkeypatch) as bucket:
        assert upload(str(folder), f"{bucket}/captures/prod") == len(segments(folder))
        [recording, *_] = TAPES.glob("kraft44*.parquet")
        with Location.parse(bucket).files().open_output_stream("frames.parquet") as copy:
            copy.write(recording.read_bytes())

        remote = run("replay", f"{bucket}/captures/prod", "--since", "2026-11-21T14:00:02")
        table = run("replay", f"{bucket}/frames.parquet", "--until", "2026-11-21T01:54:45")
        missing = run("replay", f"{bucket}/captures/other")

    assert (remote.out, remote.err) == (local, "")
    assert table.out == run("replay", recording, "--until", "2026-11-21T01:54:45").out
    assert (missing.code, missing.out) == (2, "")
    assert "s3a://tables/captures/other does not exist" in missing.err


@pytest.mark.parametrize("command", [["replay", "http://host/x"], ["capture", "-b", "127.0.0.1:1", "s3://bucket/x"]])
def test_place_that_the_command_cannot_use_is_a_usage_error(command: list[str]) -> None:
    done = run(*command)

    assert (done.code, done.out) == (2, "")
    assert "expected a path" in done.err


def table(**columns: object) -> pa.Table:
    """Return a table with one recorded frame and these columns."""
    known = {"polled_at": at(0), "cluster_id": "c", "broker_id": 1, "endpoint": "h:1", "api_key": 3, "api_version": 12}
    return pa.table({name: [value] for name, value in (known | {"frame": b"\0\0\0\1"} | columns).items()})


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"frame": 5}, "int64"),
        ({"polled_at": 1.5}, "double"),
        ({"request_hex": "zz"}, "hex"),
        ({"api_version": None}, "api_version"),
    ],
    ids=["frame is a number", "time is a number", "malformed hex", "unknown version"],
)
def test_table_without_frames_is_a_one_line_error(tmp_path: Path, columns: dict[str, object], complaint: str) -> None:
    place = tmp_path / "frames.parquet"
    pq.write_table(table(**columns), place)
    assert_one_line(run("replay", place), place, complaint)


def test_invalid_parquet_file_is_a_one_line_error(tmp_path: Path) -> None:
    place = tmp_path / "text.parquet"
    place.write_text("no parquet")
    assert_one_line(run("replay", place), place, "Parquet")
    part = tmp_path / "capture" / "date=2026-11-21" / "part-20261121T140000.000000Z-20261121T140001.000000Z-000.parquet"
    part.parent.mkdir(parents=True)
    part.write_text("no parquet")
    assert_one_line(run("replay", tmp_path / "capture"), tmp_path / "capture", "Parquet")


def assert_one_line(done: Run, place: Path, complaint: str) -> None:
    assert (done.code, done.out) == (1, "")
    [line] = done.err.splitlines()
    assert line.startswith(f"Error: {place}")
    assert complaint in line


@pytest.mark.parametrize("tape", ["zk39", "kraft44"])
def test_recording_lists_what_was_done_to_the_cluster(tmp_path: Path, tape: str) -> None:
    """The recorded file and a capture with the same rows list the same events."""
    recorded = TAPES / f"{tape}-public.parquet"
    with Capture(tmp_path, roll_bytes=300_000) as capture:
        for batch in from_table(pq.read_table(recorded)).to_batches():
            capture.append_many(row._replace(kind=None) for row in to_rows(batch))
    with gzip.open(TAPES / f"{tape}-public.truth.jsonl.gz", "rt") as lines:
        truth: list[dict[str, Any]] = [json.loads(line) for line in lines]

    story = run("replay", recorded, "-o", "json").out

    assert run("replay", tmp_path, "-o", "json").out == story
    events = [json.loads(line) for line in story.splitlines()]
    ended = {"kill_9", "controlled_shutdown", "sigstop"}
    gone = sum(event.get("kind") in ended for event in truth)
    assert len({(e["broker_id"], e["at"][:18]) for e in events if e["what"] == "BrokerLeft"}) >= gone
    assert sum(event["what"] == "Reachable" for event in events) == gone
    deleted = {topic for event in truth if event.get("kind") == "delete_topics" for topic in event["detail"]["topics"]}
    assert {event["topic"] for event in events if event["what"] == "TopicRemoved"} == deleted
