"""Arrow libraries read batches without a copy, and provide frames."""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kwire
from kwire import frame
from kwire.messages.kafka import SaslAuthenticateRequest
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from tests.columnar.expected import expected_rows
from tests.for_rows import for_rows
from tests.proof.material import vectors

VERSION = 12
GOOD = [vector.body for vector in vectors()["MetadataResponse"] if vector.version == VERSION]
FRAMES = [*GOOD, GOOD[-1][:-1], None]
ROWS = expected_rows(MetadataResponse, FRAMES, VERSION, "topics.partitions")
LEADERS = [row["leader_id"] for row in ROWS]


@pytest.fixture
def batch() -> Any:
    return kwire.columns(MetadataResponse, FRAMES, version=VERSION)


def address(column: Any) -> int:
    """Return the address of the values of a pyarrow array."""
    [chunk] = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return int(chunk.buffers()[1].address)


def test_pyarrow_does_not_copy(batch: Any) -> None:
    by_array, by_stream = pa.record_batch(batch), pa.table(batch)
    assert by_array["leader_id"].to_pylist() == LEADERS
    assert address(by_array["leader_id"]) == address(by_stream["leader_id"])


def test_polars_does_not_copy(batch: Any) -> None:
    frame = pl.DataFrame(batch)
    assert frame["leader_id"].to_list() == LEADERS
    assert frame["name"].to_list() == [row["name"] for row in ROWS]
    assert address(frame["leader_id"].to_arrow()) == address(pa.record_batch(batch)["leader_id"])


def test_duckdb_does_not_copy(batch: Any) -> None:
    assert duckdb.from_arrow(batch).project("leader_id").fetchall() == [(leader,) for leader in LEADERS]
    assert duckdb.from_arrow(batch).filter("error_kind is not null").count("frame").fetchall() == [(2,)]


def test_pandas_does_not_copy(batch: Any) -> None:
    table = pa.table(batch)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert pa.array(frame["leader_id"]).to_pylist() == LEADERS
    assert address(frame["leader_id"].array.__arrow_array__()) == address(table["leader_id"])
    assert len(frame) == len(LEADERS)


def test_arrow_data_outlives_batch_and_frames() -> None:
    frames = [bytes(bytearray(body)) for body in GOOD]
    table = pa.table(kwire.columns(MetadataResponse, frames, version=VERSION))
    frames.clear()
    expected = expected_rows(MetadataResponse, GOOD, VERSION, "topics.partitions")
    assert table["isr_nodes"].to_pylist() == [row["isr_nodes"] for row in expected]


@for_rows(
    "frames",
    [
        pa.array(FRAMES, pa.binary()),
        pa.array(FRAMES, pa.large_binary()),
        pa.array(FRAMES, pa.binary_view()),
        pa.array([b"before", *FRAMES], pa.binary())[1:],
        pa.chunked_array([pa.array(FRAMES[:1], pa.binary()), pa.array(FRAMES[1:], pa.binary())]),
        pl.Series(FRAMES),
        tuple(FRAMES),
        iter(FRAMES),
        [frame and memoryview(frame) for frame in FRAMES],
        [frame and bytearray(frame) for frame in FRAMES],
    ],
    ids=["binary", "large_binary", "binary_view", "slice", "chunked", "polars", "tuple", "iter", "views", "bytearrays"],
)
def test_frames_can_be_bytes_like_or_arrow(frames: Any) -> None:
    batch = pa.record_batch(kwire.columns(MetadataResponse, frames, version=VERSION))
    assert batch["leader_id"].to_pylist() == LEADERS


@for_rows("frames", [pa.array([1]), pa.array(["text"]), ["text"], [1], 1])
def test_other_frames_are_rejected(frames: Any) -> None:
    with pytest.raises(TypeError):
        kwire.columns(MetadataResponse, frames, version=VERSION)


@for_rows("version", range(14))
def test_response_headers_are_skipped(version: int) -> None:
    bodies = [vector.body for vector in vectors()["MetadataResponse"] if vector.version == version]
    header = bytes(4) if version < 9 else bytes(5)
    payloads = [header + body for body in bodies] + [header[:2], header + bodies[0][:-1]]
    found = pa.record_batch(kwire.columns(MetadataResponse, payloads, version=version, header=True)).to_pylist()

    good = pa.record_batch(kwire.columns(MetadataResponse, bodies, version=version)).to_pylist()
    assert found[:-2] == good
    for row, payload in zip(found[-2:], payloads[-2:], strict=True):
        with pytest.raises(kwire.DecodeError) as caught:
            frame.decode_response(payload, MetadataResponse, version=version)
        assert (row["error_kind"], row["error_offset"]) == (caught.value.kind, caught.value.offset)


def test_request_headers_are_skipped() -> None:
    message = MetadataRequest(topics=None)
    payload = frame.encode_request(message, version=12, correlation_id=7, client_id="me")[4:]
    [row] = pa.record_batch(kwire.columns(MetadataRequest, [payload], version=12, rows="", header=True)).to_pylist()
    assert row["error_kind"] is None
    assert row["topics"] is None
    assert row["allow_auto_topic_creation"] is True


def test_schema_is_the_same_for_every_version() -> None:
    schemas = [pa.schema(kwire.columns_schema(MetadataResponse, version=version)) for version in range(14)]
    assert all(schema.equals(schemas[0], check_metadata=True) for schema in schemas)
    empty = pa.record_batch(kwire.columns(MetadataResponse, [], version=3))
    assert empty.schema.equals(schemas[0], check_metadata=True)
    assert schemas[0].names == [
        "frame", "throttle_time_ms", "cluster_id", "controller_id", "cluster_authorized_operations",
        "message_error_code", "topics_error_code", "name", "topic_id", "is_internal", "topic_authorized_operations",
        "error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes",
        "offline_replicas", "error_kind", "error_offset", "error_path",
    ]  # fmt: skip


def test_unknown_rows_error_lists_the_valid_rows() -> None:
    with pytest.raises(
        kwire.KwireError, match=r"no array 'topics.name' for rows: expected one of '', 'brokers', 'topics'"
    ):
        kwire.columns(MetadataResponse, [], version=1, rows="topics.name")
    for rows in ("topic", "topics.", ".", "topics.partitions.leader_id", "controller_id"):
        with pytest.raises(kwire.KwireError, match="no array"):
            kwire.columns_schema(MetadataResponse, version=1, rows=rows)


def test_rows_of_a_message_without_arrays_are_the_messages() -> None:
    with pytest.raises(kwire.KwireError) as raised:
        kwire.columns(SaslAuthenticateRequest, [b"\x00\x00\x00\x00"], version=1)
    assert str(raised.value) == (
        "SaslAuthenticateRequest has no array of structs for rows: pass rows='' for one row per message"
    )
    assert len(kwire.columns(SaslAuthenticateRequest, [b"\x00\x00\x00\x00"], version=1, rows="")) == 1


def test_undeclared_version_is_rejected() -> None:
    with pytest.raises(kwire.UnsupportedVersion):
        kwire.columns(MetadataResponse, [], version=99)


@for_rows(
    ("mistake", "message"),
    [
        ({"cls": int}, "int: this class is not a message"),
        ({"version": True}, "version: expected an int, found True"),
        ({"version": [9]}, r"version: expected an int, found \[9\]"),
        ({"rows": ["topics"]}, r"rows: expected a str of names separated by dots, found \['topics'\]"),
        ({"frames": b""}, "frames: expected several bodies, found one of type bytes: put it into a list"),
        ({"frames": memoryview(b"body")}, "frames: expected several bodies, found one of type memoryview"),
    ],
)
def test_errors_name_the_wrong_argument(mistake: dict[str, Any], message: str) -> None:
    right: dict[str, Any] = {"cls": MetadataResponse, "frames": [], "version": 9}
    with pytest.raises(TypeError, match=message):
        kwire.columns(**{**right, **mistake})
