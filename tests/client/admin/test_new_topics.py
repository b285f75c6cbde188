"""New topics on brokers that do not run, which clusters with ZooKeeper accept, and clusters with KRaft refuse."""

from __future__ import annotations

import pytest

from kwire.client.admin import AdminClient, NewTopic
from kwire.messages.kafka.create_topics import CreateTopicsRequest
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.unregister_broker import UnregisterBrokerRequest
from kwire.testing import FakeCluster


@pytest.mark.parametrize("validate_only", [True, False])
@pytest.mark.parametrize("assignment", [{0: (1, 99)}, {0: (99,)}, {0: (1,), 1: (99,)}])
async def test_broker_that_does_not_run_is_refused_with_zookeeper(
    validate_only: bool, assignment: dict[int, tuple[int, ...]]
) -> None:
    with FakeCluster(2) as cluster:
        assert all(UnregisterBrokerRequest.api_key not in cluster.broker(id).versions for id in (1, 2))
        async with await AdminClient.open(cluster.bootstrap) as admin:
            outcomes = await admin.create_topics({"new": NewTopic(assignment=assignment)}, validate_only=validate_only)
        assert not [request for request in cluster.requests() if request.api_key == CreateTopicsRequest.api_key]

    error = outcomes["new"]
    assert error is not None
    assert error.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "broker 99, which does not run" in str(error)
