"""Lists and changes of a user who cannot see or change everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kwire.client.admin import AdminClient, AdminError, TopicChange
from kwire.messages.kafka.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kwire.messages.kafka.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from kwire.messages.kafka.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.list_groups import ListGroupsRequest, ListGroupsResponse
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.testing import FakeCluster
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.brokers import list_ as list_brokers
from kwire_admin.operations.verbs.groups import list_ as list_groups
from kwire_admin.operations.verbs.topics import list_ as list_topics
from kwire_admin.operations.visibility import warn_if_hidden
from tests.client.admin.scripted_broker import ScriptedBroker, scripted_broker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.declare import Message

REFUSED = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


class HidingBroker:
    """A broker that shows topics to a user, and hides all others, and all groups, if `hides` is true."""

    def __init__(self, visible: tuple[str, ...], *, hides: bool) -> None:
        self.visible, self.hides = visible, hides
        self.broker: ScriptedBroker | None = None

    def respond(self, request: Any) -> Message:
        match request:
            case MetadataRequest():
                names = self.visible if request.topics is None else [topic.name for topic in request.topics]
                return self.metadata([name for name in names if name is not None])
            case ListGroupsRequest():
                return ListGroupsResponse(error_code=0, groups=())
            case DescribeGroupsRequest():
                code = ErrorCode.GROUP_AUTHORIZATION_FAILED if self.hides else 0
                return DescribeGroupsResponse(
                    groups=tuple(
                        DescribedGroup(
                            error_code=int(code), group_id=group, group_state="Dead", protocol_type="",
                            protocol_data="", members=(),
                        )
                        for group in request.groups
                    )
                )  # fmt: skip
            case DescribeQuorumRequest():
                refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                return DescribeQuorumResponse(error_code=refused, topics=(), nodes=())
            case CreatePartitionsRequest():
                return CreatePartitionsResponse(
                    throttle_time_ms=0,
                    results=tuple(
                        CreatePartitionsTopicResult(name=topic.name, error_code=REFUSED, error_message=None)
                        for topic in request.topics
                    ),
                )
        raise AssertionError(f"unexpected {request}")

    def metadata(self, names: list[str]) -> MetadataResponse:
        assert self.broker is not None
        partition = MetadataResponsePartition(
            error_code=0, partition_index=0, leader_id=1, leader_epoch=0, replica_nodes=(1,), isr_nodes=(1,),
            offline_replicas=(),
        )  # fmt: skip
        topics = tuple(
            MetadataResponseTopic(
                error_code=0 if name in self.visible else REFUSED if self.hides else 3,
                name=name,
                topic_id=UUID(int=number),
                is_internal=False,
                partitions=(partition,) if name in self.visible else (),
            )
            for number, name in enumerate(names, 1)
        )
        broker = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.broker.port, rack=None)
        return MetadataResponse(brokers=(broker,), cluster_id="scripted", controller_id=1, topics=topics)


async def warnings_of(verb: Callable[..., Awaitable[list[Any]]], hiding: HidingBroker) -> tuple[list[Any], list[str]]:
    warnings: list[str] = []
    async with (
        scripted_broker("kafka", hiding.respond) as hiding.broker,
        await AdminClient.open(f"127.0.0.1:{hiding.broker.port}", timeout=5) as admin,
    ):
        return await verb(Run(admin, warn=warnings.append)), warnings


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize(("verb", "what"), [(list_groups, "groups"), (list_topics, "topics")])
async def test_empty_list_says_that_resources_may_be_hidden(
    verb: Callable[..., Awaitable[list[Any]]], what: str, hides: bool
) -> None:
    rows, warnings = await warnings_of(verb, HidingBroker((), hides=hides))
    assert rows == []
    expected = f"no {what} are visible: none exist, or this user has no Describe permission on any."
    assert warnings == [expected] * hides


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("visible", [("orders",), ("orders", "audit")])
async def test_list_says_that_it_has_a_part(visible: tuple[str, ...], hides: bool) -> None:
    rows, warnings = await warnings_of(list_topics, HidingBroker(visible, hides=hides))
    assert [row.name for row in rows] == sorted(visible)
    assert warnings == ["only topics that this user may describe are listed."] * hides


async def test_list_does_not_fail_if_permissions_are_not_known() -> None:
    """The broker stops after the list itself."""
    warnings: list[str] = []
    with FakeCluster(brokers=1, topics=["orders"]) as cluster:
        async with await AdminClient.open(cluster.bootstrap, timeout=1) as admin:
            cluster.stop_broker(1)
            await warn_if_hidden(Run(admin, warn=warnings.append), 1, "topics")
    [warning] = warnings
    assert warning.startswith("it is not known whether this user sees all topics: 127.0.0.1:")


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("visible", [(), ("orders",), ("orders", "audit")])
async def test_numbers_of_brokers_cover_the_visible_topics(visible: tuple[str, ...], hides: bool) -> None:
    [row], warnings = await warnings_of(list_brokers, HidingBroker(visible, hides=hides))
    count = None if hides and not visible else len(visible)
    assert (row.leaders, row.replicas) == (count, count)
    assert len(warnings) == hides
    assert not warnings or ("are not known" if not visible else " counted.") in warnings[0]


async def test_refused_change_of_partitions_names_the_permission() -> None:
    hiding = HidingBroker(("orders",), hides=True)
    async with (
        scripted_broker("kafka", hiding.respond) as hiding.broker,
        await AdminClient.open(f"127.0.0.1:{hiding.broker.port}", timeout=5) as admin,
    ):
        for validate_only in (False, True):
            changes = {"orders": TopicChange(partitions=4)}
            error = (await admin.alter_topics(changes, validate_only=validate_only))["orders"]
            assert isinstance(error, AdminError)
            assert error.needs == "Alter on the topic"
