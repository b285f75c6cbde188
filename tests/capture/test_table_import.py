"""Import of recorded frames, and recordings of real clusters stored in a capture."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kwire.capture import SCHEMA, Capture, Row, RowKind, UnreadableCapture, from_table, replay
from kwire.capture.equivalence import decode_row
from kwire.capture.rows import to_rows
from kwire.metadata.diff import is_equivalent
from tests.capture.sample_rows import at, decoded, metadata, payload

RECORDINGS = Path(__file__).parent.parent / "data" / "tapes"


@pytest.mark.parametrize(
    ("recording", "cluster_id"), [("zk39", "4zuCG4NGSuCb_pHu_l0aiw"), ("kraft44", "dGFwZS1rcmFmdDQ0LXB1Yg")]
)
def test_recording_fits_the_schema(recording: str, cluster_id: str) -> None:
    recorded = pq.read_table(RECORDINGS / f"{recording}-public.parquet")

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


def test_missing_values_are_null_or_taken_from_neighbors() -> None:
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


def test_present_values_are_kept() -> None:
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
def test_invalid_table_is_rejected(change: dict[str, object]) -> None:
    assert from_table(pa.table(SOUND)).num_rows == 1

    with pytest.raises(UnreadableCapture):
        from_table(pa.table({name: values for name, values in (SOUND | change).items() if values is not None}))


@pytest.mark.parametrize("recording", ["zk39", "kraft44"])
def test_recording_survives_a_capture(tmp_path: Path, recording: str) -> None:
    table = from_table(pq.read_table(RECORDINGS / f"{recording}-public.parquet"))
    recorded = [row._replace(kind=None) for batch in table.to_batches() for row in to_rows(batch)]

    with Capture(tmp_path, roll_bytes=400_000) as capture:
        kinds = Counter((row.api_key, capture.append(row).kind) for row in recorded)

    replayed = list(replay(tmp_path))
    assert [row_facts(row) for row in replayed] == [row_facts(row) for row in recorded]
    for before, after in zip(recorded, replayed, strict=True):
        if before.frame is not None and before.frame[4:] != (after.frame or b"")[4:]:
            message, replayed_message = decode_row(before), decode_row(after)
            assert message is not None
            assert replayed_message is not None
            assert is_equivalent(message, replayed_message)
            assert getattr(message, "controller_id", None) == after.controller_id
    assert kinds[3, RowKind.FULL] == metadata_changes(recorded) < kinds[3, RowKind.SAME] / 5
    stored = sum(path.stat().st_size for path in tmp_path.rglob("*.parquet"))
    assert stored < 600_000


def metadata_changes(rows: list[Row]) -> int:
    """Return how many Metadata responses differ from the previous one of their broker."""
    changes = 0
    last: dict[int, object] = {}
    for row in rows:
        if row.api_key == 3 and row.frame is not None:
            message = decoded(row)
            content = (
                sorted(message.brokers, key=lambda broker: broker.node_id),
                {
                    topic.name: (
                        topic.topic_id,
                        sorted(topic.partitions, key=lambda partition: partition.partition_index),
                    )
                    for topic in message.topics
                },
            )
            changes += last.get(row.broker_id) != content
            last[row.broker_id] = content
    return changes


def row_facts(row: Row) -> tuple[object, ...]:
    return row.polled_at, row.broker_id, row.endpoint, row.api_key, row.error, row.request, (row.frame is None)
