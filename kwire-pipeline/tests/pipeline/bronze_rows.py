"""Rows of bronze for tests: responses and failed polls of brokers.

Times are seconds since `START`. Topics have one partition each, with replicas on brokers 1 and 2.
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


def response(
    at: float,
    *topics: MetadataResponseTopic,
    broker: int = 1,
    endpoint: str = "",
    cluster: str | None = "c",
    listed: tuple[int, ...] = (1, 2),
) -> Row:
    """Return a response that contains the cluster id; the row does not."""
    brokers = tuple(MetadataResponseBroker(node_id=each, host=f"k{each}", port=9092) for each in listed)
    message = MetadataResponse(brokers=brokers, cluster_id=cluster, controller_id=1, topics=topics)
    request = MetadataRequest(topics=None)
    return _poll(at, broker, endpoint)._replace(
        frame=frame.encode_response(message, version=12, correlation_id=1)[4:],
        request=frame.encode_request(request, version=12, correlation_id=1)[4:],
    )


def failed_poll(at: float, *, broker: int = 1, endpoint: str = "", cluster: str | None = None) -> Row:
    """Return a poll with a refused connection; `cluster` is the id that the poller knows."""
    refused = "connect: ConnectionRefusedError: Connection refused"
    return _poll(at, broker, endpoint)._replace(error=refused, cluster_id=cluster)


def _poll(at: float, broker: int, endpoint: str) -> Row:
    return Row(START + timedelta(seconds=at), broker, endpoint or f"k{broker}:9092", api_key=3, api_version=12)


def table(spark: SparkSession, folder: Path, *rows: Row) -> DataFrame:
    """Return the rows as a table of recorded frames."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(pa.Table.from_batches([to_batch(rows)]), path)
    return spark.read.parquet(str(path))
