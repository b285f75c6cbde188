"""Groups and transactional ids that several brokers list, while the partitions of the internal topics move."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient
from kwire.client.admin.coordinators import KeyType
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kwire.messages.kafka.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kwire.messages.kafka.list_transactions import ListTransactionsRequest, ListTransactionsResponse, TransactionState
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.client.admin.scripted_broker import scripted_broker

if TYPE_CHECKING:
    from kwire.declare import Message
    from tests.client.admin.scripted_broker import ScriptedBroker

BROKERS = (1, 2, 3)


class MovingCluster:
    """Three brokers that list keys which they coordinate, coordinated before, or will coordinate.

    Attributes:
        listed: the brokers that list a key.
        coordinators: the coordinator of a key, which need not list it; -1 for none.
    """

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.listed = {f"key-{number}": draw.sample(BROKERS, draw.randint(1, 3)) for number in range(20)}
        self.coordinators = {
            key: brokers[0] if len(brokers) == 1 else draw.choice((-1, *BROKERS))
            for key, brokers in self.listed.items()
        }
        self.looked_up: set[str] = set()
        self.brokers: dict[int, ScriptedBroker] = {}

    def respond(self, broker: int, request: Any) -> Message:
        mine = [key for key, brokers in self.listed.items() if broker in brokers]
        match request:
            case MetadataRequest():
                brokers = tuple(
                    MetadataResponseBroker(node_id=id, host="127.0.0.1", port=each.port, rack=None)
                    for id, each in self.brokers.items()
                )
                return MetadataResponse(brokers=brokers, cluster_id="moving", controller_id=1, topics=())
            case ListGroupsRequest():
                groups = (
                    ListedGroup(group_id=key, protocol_type="", group_state=str(broker), group_type="classic")
                    for key in mine
                )
                return ListGroupsResponse(error_code=0, groups=tuple(groups))
            case ListTransactionsRequest():
                states = (
                    TransactionState(transactional_id=key, producer_id=broker, transaction_state="Ongoing")
                    for key in mine
                )
                return ListTransactionsResponse(
                    throttle_time_ms=0, error_code=0, unknown_state_filters=(), transaction_states=tuple(states)
                )
            case FindCoordinatorRequest():
                self.looked_up |= {*request.coordinator_keys}
                return FindCoordinatorResponse(coordinators=tuple(map(self.coordinator, request.coordinator_keys)))
        raise AssertionError(f"unexpected {request}")

    def coordinator(self, key: str) -> Coordinator:
        id = self.coordinators[key]
        code = int(ErrorCode.COORDINATOR_NOT_AVAILABLE) if id < 0 else 0
        return Coordinator(key=key, node_id=id, host="127.0.0.1", port=1, error_code=code, error_message=None)


@pytest.mark.parametrize("seed", range(4))
async def test_each_key_is_listed_once_as_its_coordinator_lists_it(seed: int) -> None:
    cluster = MovingCluster(seed)
    async with AsyncExitStack() as stack:
        for id in BROKERS:
            cluster.brokers[id] = await stack.enter_async_context(
                scripted_broker("kafka", partial(cluster.respond, id))
            )
        address = f"127.0.0.1:{cluster.brokers[1].port}"
        admin = await stack.enter_async_context(await AdminClient.open(address, timeout=10))
        groups, transactions = await admin.list_groups(), await admin.list_transactions()
        expected = {
            key: coordinator if coordinator in cluster.listed[key] else min(cluster.listed[key])
            for key, coordinator in cluster.coordinators.items()
        }
        assert [(group.group_id, group.coordinator, group.state) for group in groups] == [
            (key, broker, str(broker)) for key, broker in sorted(expected.items())
        ]
        assert [(listing.transactional_id, listing.producer_id) for listing in transactions] == sorted(expected.items())
        assert cluster.looked_up == {key for key, brokers in cluster.listed.items() if len(brokers) > 1}
        assert all(
            admin.router.metadata.coordinator(KeyType.GROUP, key) in (coordinator, None)
            for key, coordinator in cluster.coordinators.items()
        )
        third = await admin.list_groups(states=["3"])
        assert {group.group_id for group in third} == {key for key, broker in expected.items() if broker == 3}
