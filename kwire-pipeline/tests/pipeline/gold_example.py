"""The example of docs/gold-explained.md: three brokers; one is killed and started again.

Every broker is polled once a second. Topic `orders` has two partitions with replicas on all three brokers. Broker 2 is
killed after its poll at 01:55:05.1 and responds again at 01:55:20.1.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from kwire import frame
from kwire.capture.rows import Row
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kafka.metadata import MetadataResponseBroker as Broker
from kwire.messages.kafka.metadata import MetadataResponsePartition as Partition
from kwire.messages.kafka.metadata import MetadataResponseTopic as Topic

CLUSTER = "example"
START = datetime(2026, 11, 21, 1, 55, tzinfo=UTC)
SECONDS = 30

KILLED, SESSION_TIMEOUT, STARTED, IN_SYNC = 6, 15, 20, 23
"""Seconds: the first failed poll, the end of the session of broker 2, its return, and all replicas in sync again."""

REQUEST = frame.encode_request(MetadataRequest(topics=None), version=12, correlation_id=1)[4:]


def rows() -> list[Row]:
    """Return the polls in order of time: broker 1 at .0, broker 2 at .1, and broker 3 at .2 of each second."""
    return [_poll(second, broker_id) for second in range(SECONDS) for broker_id in (1, 2, 3)]


def _poll(second: int, broker_id: int) -> Row:
    at = START + timedelta(seconds=second, milliseconds=100 * (broker_id - 1))
    row = Row(at, broker_id, f"broker-{broker_id}:9092", api_key=3, api_version=12, cluster_id=CLUSTER)
    if broker_id == 2 and KILLED <= second < STARTED:
        return row._replace(error="connect: ConnectionRefusedError: Connection refused")
    message = MetadataResponse(
        brokers=tuple(
            Broker(node_id=node, host=f"broker-{node}", port=9092)
            for node in (1, 2, 3)
            if node != 2 or not SESSION_TIMEOUT <= second < STARTED
        ),
        cluster_id=CLUSTER,
        controller_id=1,
        topics=(_orders(second),),
    )
    body = frame.encode_response(message, version=12, correlation_id=1)[4:]
    return row._replace(frame=body, request=REQUEST)


def _orders(second: int) -> Topic:
    failed_over = second >= SESSION_TIMEOUT
    missing = SESSION_TIMEOUT <= second < IN_SYNC
    return Topic(
        error_code=0,
        name="orders",
        topic_id=UUID(int=1),
        is_internal=False,
        partitions=(
            _partition(0, 1 if failed_over else 2, 6 if failed_over else 5, (2, 1, 3), missing),
            _partition(1, 1, 5, (1, 3, 2), missing),
        ),
    )


def _partition(number: int, leader: int, epoch: int, replicas: tuple[int, ...], missing: bool) -> Partition:
    return Partition(
        error_code=0,
        partition_index=number,
        leader_id=leader,
        leader_epoch=epoch,
        replica_nodes=replicas,
        isr_nodes=tuple(replica for replica in replicas if replica != 2 or not missing),
        offline_replicas=(2,) if missing else (),
    )
