"""Rows of bronze in a few words: what one broker answered, or that it did not.

Times are seconds since ``START``; topics have one partition each, on brokers 1 and 2.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import NAMESPACE_DNS, uuid5

import pyarrow as pa
import pyarrow.parquet as pq

from kwire import frame
from kwire.capture.rows import Row, to_batch
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 11, 21, 14, tzinfo=UTC)


def topic(name: str, leader: int = 1, *, epoch: int = 0, isr: tuple[int, ...] = (1, 2)) -> MetadataResponseTopic:
    partition = MetadataResponsePartition(
        error_code=0,
        partition_index=0,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=(1, 2),
        isr_nodes=isr,
        offline_replicas=(),
    )
    return MetadataResponseTopic(
        error_code=0, name=name, topic_id=uuid5(NAMESPACE_DNS, name), is_internal=False, partitions=(partition,)
    )


def answer(
    at: float,
    *topics: MetadataResponseTopic,
    broker: int = 1,
    endpoint: str = "",
    cluster: str | None = "c",
    listed: tuple[int, ...] = (1, 2),
) -> Row:
    """``cluster``: as the answer tells it; nothing else does."""
    brokers = tuple(MetadataResponseBroker(node_id=each, host=f"k{each}", port=9092) for each in listed)
    told = MetadataResponse(brokers=brokers, cluster_id=cluster, controller_id=1, topics=topics)
    asked = MetadataRequest(topics=None)
    return _asked(at, broker, endpoint)._replace(
        frame=frame.encode_response(told, version=12, correlation_id=1)[4:],
        request=frame.encode_request(asked, version=12, correlation_id=1)[4:],
    )


def silence(at: float, *, broker: int = 1, endpoint: str = "", cluster: str | None = None) -> Row:
    """A poll that was refused. ``cluster``: as the poller knew it."""
    refused = "connect: ConnectionRefusedError: [Errno 111] Connection refused"
    return _asked(at, broker, endpoint)._replace(error=refused, cluster_id=cluster)


def _asked(at: float, broker: int, endpoint: str) -> Row:
    return Row(START + timedelta(seconds=at), broker, endpoint or f"k{broker}:9092", api_key=3, api_version=12)


def table(spark: SparkSession, folder: Path, *rows: Row) -> DataFrame:
    """The rows as a table of frames that somebody recorded."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(pa.Table.from_batches([to_batch(rows)]), path)
    return spark.read.parquet(str(path))
