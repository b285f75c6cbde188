"""Frames that somebody else recorded become rows of a capture; tapes of real clusters go through one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kwire.capture import SCHEMA, Capture, Row, UnreadableCapture, from_table, replay
from kwire.capture.equivalence import decode_row, is_equivalent
from kwire.capture.rows import to_rows
from tests.capture.answers import at, decoded, metadata, payload

TAPES = Path(__file__).parent.parent / "data" / "tapes"


@pytest.mark.parametrize(
    ("tape", "cluster_id"), [("zk39", "4zuCG4NGSuCb_pHu_l0aiw"), ("kraft44", "dGFwZS1rcmFmdDQ0LXB1Yg")]
)
def test_a_tape_fits_the_schema(tape: str, cluster_id: str) -> None:
    recorded = pq.read_table(TAPES / f"{tape}-public.parquet")

    rows = from_table(recorded)

    assert rows.schema == SCHEMA
    assert rows.column("frame").equals(recorded.column("frame"))
    assert rows.column("error").equals(recorded.column("error"))
    assert rows.column("polled_at").equals(recorded.column("polled_at"))
    assert rows.column("request").to_pylist()[0].hex() == recorded.column("request_hex").to_pylist()[0]
    assert set(rows.column("kind").to_pylist()) == {"full", "error"}
    assert pc.all(pc.equal(rows.column("frame").is_null(), pc.equal(rows.column("kind"), "error"))).as_py()
    assert set(rows.column("cluster_id").to_pylist()) == {cluster_id}
    assert rows.column("duration_us").null_count == rows.num_rows


def test_what_is_missing_is_null_or_told_by_neighbours() -> None:
    frames = [None, payload(metadata(1)), None, payload(metadata(1)), b"\x00", payload(metadata(1, cluster=None))]
    table = pa.table(
        {
            "polled_at": pa.array([at(number) for number in range(6)], pa.timestamp("ns", tz="UTC")),
            "broker_id": pa.array([1, 1, 1, 2, 2, 3], pa.int64()),
            "api_key": [3] * 6,
            "api_version": [12] * 6,
            "frame": pa.array(frames, pa.large_binary()),
            "note": ["is left out"] * 6,
        }
    )

    rows = from_table(table)

    assert rows.schema == SCHEMA
    assert rows.column("cluster_id").to_pylist() == ["", "cluster-one", "cluster-one", "cluster-one", "cluster-one", ""]
    assert rows.column("kind").to_pylist() == ["error", "full", "error", "full", "full", "full"]
    assert set(rows.column("dialect").to_pylist()) == {"kafka"}
    assert rows.column("endpoint").null_count == rows.column("request").null_count == 6


def test_what_is_there_stays() -> None:
    table = pa.table(
        {
            "polled_at": [at(0)],
            "cluster_id": ["mine"],
            "dialect": ["kip4"],
            "kind": ["same"],
            "frame": pa.array([None], pa.binary()),
            "request": [b"by bytes"],
            "request_hex": ["00"],
        }
    )

    [row] = from_table(table).to_pylist()

    assert (row["cluster_id"], row["dialect"], row["kind"], row["request"]) == ("mine", "kip4", "same", b"by bytes")


SOUND = {"polled_at": [at(0)], "api_key": [3], "api_version": [12], "frame": [b"\0"]}


@pytest.mark.parametrize(
    "change",
    [
        {"frame": None},
        {"polled_at": None},
        {"polled_at": [0.5]},
        {"frame": [1]},
        {"api_key": None},
        {"broker_id": ["one"]},
        {"request_hex": ["no hex"]},
        {"request_hex": [1]},
    ],
    ids=str,
)
def test_a_table_that_makes_no_rows_is_refused(change: dict[str, object]) -> None:
    assert from_table(pa.table(SOUND)).num_rows == 1

    with pytest.raises(UnreadableCapture):
        from_table(pa.table({name: values for name, values in (SOUND | change).items() if values is not None}))


@pytest.mark.parametrize("tape", ["zk39", "kraft44"])
def test_a_tape_goes_through_a_capture_and_says_the_same(tmp_path: Path, tape: str) -> None:
    table = from_table(pq.read_table(TAPES / f"{tape}-public.parquet"))
    recorded = [row._replace(kind=None) for batch in table.to_batches() for row in to_rows(batch)]

    with Capture(tmp_path, roll_bytes=400_000) as capture:
        kinds = Counter((row.api_key, capture.append(row).kind) for row in recorded)

    replayed = list(replay(tmp_path))
    assert [key_facts(row) for row in replayed] == [key_facts(row) for row in recorded]
    for before, after in zip(recorded, replayed, strict=True):
        if before.frame is not None and before.frame[4:] != (after.frame or b"")[4:]:
            ours, theirs = decode_row(before), decode_row(after)
            assert ours is not None
            assert theirs is not None
            assert is_equivalent(ours, theirs)
            assert getattr(ours, "controller_id", None) == after.controller_id
    assert kinds[3, "full"] == metadata_changes(recorded) < kinds[3, "same"] / 5
    stored = sum(path.stat().st_size for path in tmp_path.rglob("*.parquet"))
    assert stored < 600_000


def metadata_changes(rows: list[Row]) -> int:
    """How many Metadata answers differ from the one before of their broker."""
    changes = 0
    last: dict[int, object] = {}
    for row in rows:
        if row.api_key == 3 and row.frame is not None:
            told = decoded(row)
            content = (
                sorted(told.brokers, key=lambda broker: broker.node_id),
                {
                    topic.name: (topic.topic_id, sorted(topic.partitions, key=lambda each: each.partition_index))
                    for topic in told.topics
                },
            )
            changes += last.get(row.broker_id) != content
            last[row.broker_id] = content
    return changes


def key_facts(row: Row) -> tuple[object, ...]:
    return row.polled_at, row.broker_id, row.endpoint, row.api_key, row.error, row.request, (row.frame is None)
