"""Requests for items to the brokers that are responsible for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kwire.client.admin.cluster_router import ClusterRouter
from kwire.client.admin.errors import AdminError, OutcomeUnknown
from kwire.client.admin.responsible_brokers import at_responsible_brokers
from kwire.client.admin.targets import BrokerTarget
from kwire.messages.kafka.error_codes import ErrorCode

LOST = OutcomeUnknown("DeleteRecordsRequest", TimeoutError("no response within 1 s"), 1, is_repeatable=True)
NO_LEADER = AdminError.of_kafka(ErrorCode.LEADER_NOT_AVAILABLE, "orders-0")


@pytest.mark.parametrize(("first", "expected"), [(LOST, LOST), (None, NO_LEADER)], ids=["lost", "not sent"])
async def test_lost_response_stays_lost_if_no_broker_is_responsible_any_more(first: object, expected: object) -> None:
    located: list[int | AdminError] = [NO_LEADER] if first is None else [1, NO_LEADER]

    async def locate(items: Sequence[str]) -> Mapping[str, int | AdminError]:
        return dict.fromkeys(items, located.pop(0) if len(located) > 1 else located[0])

    async def send(_target: BrokerTarget, _items: Sequence[str]) -> Mapping[str, Any]:
        raise LOST

    seconds = iter(range(100))
    router = cast("ClusterRouter", SimpleNamespace(metadata=SimpleNamespace(clock=lambda: next(seconds))))
    outcomes = await at_responsible_brokers(
        router, ["orders-0"], locate, send, lambda _item, _outcome: 3, lambda _item: None, moved=()
    )

    assert outcomes == {"orders-0": expected}
