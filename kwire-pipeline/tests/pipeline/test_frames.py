"""`decode_frames`: rows equal those of the object decoder, and invalid frames stay visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kwire import frame
from kwire.messages.kafka import MetadataResponse
from kwire_pipeline import decode_frames
from kwire_pipeline.frames import _pieces
from tests.pipeline.recorded import RECORDINGS, bronze

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDING = "kraft44-public"


@pytest.fixture
def frames(spark: SparkSession) -> DataFrame:
    tape = spark.read.parquet(str(RECORDINGS / f"{RECORDING}.parquet"))
    return tape.where("api_key = 3 and frame is not null and broker_id = 1").limit(50).repartition(3)


def test_rows_equal_those_of_object_decoder(frames: DataFrame) -> None:
    rows = decode_frames(frames, MetadataResponse, version=13, keep=["polled_at"])

    got = {
        (row.polled_at.timestamp(), row.name, row.partition_index, row.leader_id, row.leader_epoch, *row.isr_nodes)
        for row in rows.collect()
    }

    expected = set()
    for row in [row for row in bronze(RECORDING) if row.api_key == 3 and row.frame and row.broker_id == 1][:50]:
        assert row.frame is not None
        message = frame.decode_response(row.frame, MetadataResponse, version=13).message
        expected |= {
            (row.polled_at.timestamp(), topic.name, p.partition_index, p.leader_id, p.leader_epoch, *p.isr_nodes)
            for topic in message.topics
            for p in topic.partitions
        }
    assert got == expected


def test_version_may_be_column_and_invalid_frames_are_rows(spark: SparkSession) -> None:
    good = next(row for row in bronze(RECORDING) if row.api_key == 3 and row.frame is not None and row.broker_id == 1)
    assert good.frame is not None
    given = [(1, good.frame, 13), (2, good.frame[:50], 13), (3, None, 13), (4, good.frame, 99), (5, good.frame, None)]
    table = spark.createDataFrame(given, "number int, value binary, spoken int")

    rows = decode_frames(table, MetadataResponse, version="spoken", frame="value", rows="brokers")

    errors = {row.number: row.error_kind for row in rows.collect()}
    assert errors.pop(1) is None
    assert errors.pop(2) in {"truncated", "count_exceeds_input"}
    assert errors == {3: "null_frame", 4: "unsupported_version", 5: "unsupported_version"}
    assert rows.where("number = 1").count() == 3


def test_kept_column_with_name_of_decoded_column_is_rejected(frames: DataFrame) -> None:
    with pytest.raises(ValueError, match="leader_id"):
        decode_frames(frames.withColumnRenamed("broker_id", "leader_id"), MetadataResponse, version=13)


def test_frames_are_decoded_in_pieces() -> None:
    megabyte = bytes(1 << 20)
    frames = pa.array([megabyte] * 3 + [bytes(9 << 20)] + [None, megabyte], pa.binary())

    assert list(_pieces(frames)) == [(0, 3), (3, 4), (4, 6)]
