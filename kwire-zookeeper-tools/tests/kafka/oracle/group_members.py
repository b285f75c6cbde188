"""Groups of the oracle's clusters: a share group and a streams group, each with a member, and one without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.client.admin import AdminClient, TopicPartition
from kwire.client.connection import Connection
from kwire.messages.kafka.share_group_heartbeat import ShareGroupHeartbeatRequest
from kwire.messages.kafka.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire.declare import Request

SHARE_MEMBER, STREAMS_MEMBER = "c7vkQ0nGTuS5Ar2vZ4QXeA", "NmVqT2v3RkGk1sH2wPpYmQ"
SUBTOPOLOGY = Subtopology(
    subtopology_id="0",
    source_topics=("orders",),
    source_topic_regex=(),
    state_changelog_topics=(),
    repartition_sink_topics=(),
    repartition_source_topics=(),
    copartition_groups=(),
)


async def join_groups(bootstrap: str) -> None:
    """Create the groups `shares` and `streams` with a member, and `idle-shares` and `idle-streams` without members."""
    async with await AdminClient.open(bootstrap) as admin, await Connection.open(bootstrap) as connection:
        await admin.list_group_offsets(["streams"])  # creates the topic of the coordinators
        for group in ("shares", "streams", "idle-streams"):
            member = SHARE_MEMBER if group == "shares" else STREAMS_MEMBER
            await _heartbeat(connection, group, member)
        leaving = StreamsGroupHeartbeatRequest(
            group_id="idle-streams", member_id=STREAMS_MEMBER, member_epoch=-1, endpoint_information_epoch=0
        )
        assert (await connection.send(leaving)).error_code == 0
        offsets = {TopicPartition("orders", partition): 0 for partition in range(2)}
        (await admin.alter_share_group_offsets("idle-shares", offsets)).raise_first()
        (await admin.alter_group_offsets("idle-streams", offsets)).raise_first()


async def _heartbeat(connection: Connection, group: str, member: str) -> None:
    """Join until the group is stable: the coordinator creates its topics first, and assigns partitions later."""
    epoch = 0

    async def has_tasks() -> bool:
        nonlocal epoch
        request: Request[Any]
        if group == "shares":
            request = ShareGroupHeartbeatRequest(
                group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=("orders",)
            )
        else:
            request = StreamsGroupHeartbeatRequest(
                group_id=group,
                member_id=member,
                member_epoch=epoch,
                endpoint_information_epoch=0,
                rebalance_timeout_ms=60_000,
                topology=Topology(epoch=0, subtopologies=(SUBTOPOLOGY,)) if epoch == 0 else None,
                active_tasks=(),
                standby_tasks=(),
                warmup_tasks=(),
                process_id="process-1",
                client_tags=(),
            )
        response: Any = await connection.send(request)
        if response.error_code == 0:
            epoch = response.member_epoch
            if group == "shares":
                return response.assignment is not None and bool(response.assignment.topic_partitions)
            return bool(response.active_tasks)
        return False

    joined: bool = await eventually(has_tasks, f"the member of {group} has partitions")
    assert joined
