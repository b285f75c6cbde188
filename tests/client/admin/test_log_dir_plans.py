"""Plans of moves between log directories, some of them offline: the plan is what the broker answers."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kwire.client.admin import AdminClient, TopicPartition
from kwire.messages.kafka.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kwire.messages.kafka.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.admin.scripted_broker import ScriptedBroker, scripted_broker

if TYPE_CHECKING:
    from kwire.declare import Message

PATHS = ("/a", "/b", "/c")


class DiskBroker:
    """A broker with log directories, and a topic with a replica in some of them. `None` is a replica elsewhere."""

    def __init__(self, choose: Random) -> None:
        self.offline = {path for path in PATHS if choose.random() < 0.4}
        self.paths = [choose.choice([*PATHS, None]) for _ in range(4)]
        self.broker: ScriptedBroker | None = None

    def respond(self, request: Any) -> Message:
        match request:
            case MetadataRequest():
                return self.metadata()
            case DescribeClusterRequest():
                operations = -(2**31)  # not known
                return DescribeClusterResponse(
                    throttle_time_ms=0, error_code=0, error_message=None, cluster_id="disks", controller_id=1,
                    brokers=(), cluster_authorized_operations=operations,
                )  # fmt: skip
            case DescribeLogDirsRequest():
                return DescribeLogDirsResponse(
                    throttle_time_ms=0, error_code=0, results=tuple(map(self.directory, PATHS))
                )
            case AlterReplicaLogDirsRequest():
                results = [
                    AlterReplicaLogDirTopicResult(
                        topic_name=topic.name,
                        partitions=tuple(
                            AlterReplicaLogDirPartitionResult(
                                partition_index=index, error_code=self.refusal(index, target.path)
                            )
                            for index in topic.partitions
                        ),
                    )
                    for target in request.dirs
                    for topic in target.topics
                ]
                return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=tuple(results))
        raise AssertionError(f"unexpected {request}")

    def refusal(self, index: int, path: str) -> int:
        """Return the code of a move, by ReplicaManager.alterReplicaLogDirs of Kafka."""
        if path not in PATHS:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if path in self.offline or self.paths[index] in self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return 0

    def directory(self, path: str) -> DescribeLogDirsResult:
        if path in self.offline:
            code = ErrorCode.KAFKA_STORAGE_ERROR
            return DescribeLogDirsResult(error_code=code, log_dir=path, topics=(), total_bytes=-1, usable_bytes=-1)
        partitions = tuple(
            DescribeLogDirsPartition(partition_index=index, partition_size=1, offset_lag=0, is_future_key=False)
            for index, held in enumerate(self.paths)
            if held == path
        )
        topics = (DescribeLogDirsTopic(name="orders", partitions=partitions),) if partitions else ()
        return DescribeLogDirsResult(error_code=0, log_dir=path, topics=topics, total_bytes=9, usable_bytes=9)

    def metadata(self) -> MetadataResponse:
        assert self.broker is not None
        partitions = tuple(
            MetadataResponsePartition(
                error_code=0, partition_index=index, leader_id=2, leader_epoch=0,
                replica_nodes=(2,) if path is None else (2, 1), isr_nodes=(2,),
                offline_replicas=(1,) if path in self.offline else (),
            )
            for index, path in enumerate(self.paths)
        )  # fmt: skip
        topic = MetadataResponseTopic(
            error_code=0, name="orders", topic_id=UUID(int=1), is_internal=False, partitions=partitions
        )
        broker = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.broker.port, rack=None)
        return MetadataResponse(brokers=(broker,), cluster_id="disks", controller_id=1, topics=(topic,))


@pytest.mark.parametrize("seed", range(12))
async def test_plan_of_a_move_is_what_the_broker_answers(seed: int) -> None:
    choose = Random(seed)
    disks = DiskBroker(choose)
    async with (
        scripted_broker("kafka", disks.respond) as disks.broker,
        await AdminClient.open(f"127.0.0.1:{disks.broker.port}", timeout=5) as admin,
    ):
        for path in (*PATHS, "/none"):
            moves = {TopicPartition("orders", index): path for index in choose.sample(range(4), 3)}
            plan = await admin.alter_replica_log_dirs(1, moves, validate_only=True)
            real = await admin.alter_replica_log_dirs(1, moves)
            assert _codes(plan) == _codes(real)
        for log_dir in await admin.describe_log_dirs():
            assert (log_dir.error is not None) == (log_dir.path in disks.offline)
            assert log_dir.error is None or log_dir.error.item == f"{log_dir.path} of broker 1"


def _codes(outcomes: Any) -> dict[str, int | None]:
    return {item: None if error is None else error.code for item, error in outcomes.items()}
