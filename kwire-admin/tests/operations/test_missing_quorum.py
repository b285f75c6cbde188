"""Clusters whose controllers are dead: answers that need one name the quorum, in place of a broker that timed out."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import TYPE_CHECKING, Any

from kwire.client.admin import AdminClient
from kwire.messages.kafka.describe_cluster import DescribeClusterResponse
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsResponse
from kwire.messages.kafka.describe_quorum import (
    DescribeQuorumResponse,
    PartitionDataResponse,
    ReplicaState,
    TopicDataResponse,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.list_partition_reassignments import ListPartitionReassignmentsResponse
from kwire.messages.kafka.metadata import MetadataResponse, MetadataResponseBroker
from tests.client.admin.scripted_broker import KeepSilent, ScriptedBroker, scripted_broker
from tests.operations.verbs.dry_runs import run_case

if TYPE_CHECKING:
    from kwire.declare import Message

REFUSALS = (None, ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.BROKER_NOT_AVAILABLE)
"""Answers of a broker without a controller; None for no answer."""


class LeaderlessBroker:
    """A broker that lists itself and a dead broker, and answers requests to the controller with a code or not."""

    def __init__(self, code: ErrorCode | None) -> None:
        self.broker: ScriptedBroker
        self.code = code
        self.has_leader = False

    def respond(self, request: Any) -> Message:
        match type(request).__name__:
            case "MetadataRequest":
                brokers = tuple(
                    MetadataResponseBroker(node_id=id, host="127.0.0.1", port=port, rack=None)
                    for id, port in ((1, self.broker.port), (2, 1))
                )
                return MetadataResponse(brokers=brokers, cluster_id="leaderless", controller_id=2, topics=())
            case "DescribeQuorumRequest" if self.has_leader:
                replica = ReplicaState(replica_id=9, log_end_offset=1, last_fetch_timestamp=1)
                partition = PartitionDataResponse(
                    partition_index=0,
                    error_code=0,
                    leader_id=9,
                    leader_epoch=1,
                    high_watermark=1,
                    current_voters=(replica,),
                    observers=(),
                )
                topic = TopicDataResponse(topic_name="__cluster_metadata", partitions=(partition,))
                return DescribeQuorumResponse(error_code=0, topics=(topic,))
            case "DescribeQuorumRequest" if self.code is not None:
                return DescribeQuorumResponse(error_code=self.code, topics=(), nodes=())
            case "ListPartitionReassignmentsRequest" if self.code is not None:
                return ListPartitionReassignmentsResponse(
                    throttle_time_ms=0, error_code=self.code, error_message=None, topics=()
                )
            case "DescribeLogDirsRequest":
                return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=())
            case "DescribeClusterRequest":
                refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                return DescribeClusterResponse(
                    throttle_time_ms=0,
                    error_code=refused,
                    error_message=None,
                    cluster_id="",
                    controller_id=-1,
                    brokers=(),
                )
        raise KeepSilent


async def error_of(case: str, broker: LeaderlessBroker) -> str:
    """Return the error of a verb, which names the port of the broker as PORT."""
    async with (
        scripted_broker("kafka", broker.respond) as broker.broker,
        await AdminClient.open(f"127.0.0.1:{broker.broker.port}", timeout=1.5) as admin,
    ):
        result = await run_case(admin, case, {}, dry_run=False)
    return str(result.error).replace(str(broker.broker.port), "PORT")


async def test_verbs_name_the_missing_quorum() -> None:
    pairs = [*product(("quorum describe", "reassign-partitions status"), REFUSALS), ("configs export", None)]
    errors = await asyncio.gather(*(error_of(case, LeaderlessBroker(code)) for case, code in pairs))
    for pair, error in zip(pairs, errors, strict=True):
        assert "the controller quorum has no leader (127.0.0.1:PORT: " in error, (pair, error)


async def test_other_refusals_are_the_error() -> None:
    unauthorized = LeaderlessBroker(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    led = LeaderlessBroker(ErrorCode.REQUEST_TIMED_OUT)
    led.has_leader = True
    errors = await asyncio.gather(
        error_of("quorum describe", unauthorized), error_of("reassign-partitions status", led)
    )
    for error, code in zip(errors, ("CLUSTER_AUTHORIZATION_FAILED", "127.0.0.1:1: cannot connect"), strict=True):
        assert code in error
        assert "no leader" not in error
