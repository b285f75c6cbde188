"""Similar names in errors of unknown names."""

from __future__ import annotations

import pytest

from kwire.client.admin import AdminClient, AdminError, NewTopic, TopicChange
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.testing import FakeCluster
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.suggestions import ExistingNames, with_suggestions
from tests.cluster.controller.clusters import SETTINGS
from tests.cluster.node.memory_nodes import memory_nodes


@pytest.mark.parametrize(
    ("code", "item", "suggestion"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic order", "; did you mean orders?"),
        (ErrorCode.GROUP_ID_NOT_FOUND, "billing", ""),  # fake brokers cannot list groups
    ],
)
async def test_error_is_kept_if_similar_names_cannot_be_listed(code: ErrorCode, item: str, suggestion: str) -> None:
    error = AdminError.of_kafka(code, item, "it does not exist")
    with FakeCluster(brokers=1, topics=["orders"]) as cluster:
        async with await AdminClient.open(cluster.bootstrap) as admin:
            found = await ExistingNames(admin).suggest(error, item)

    assert (found.code, found.text) == (code, f"it does not exist{suggestion}")


async def test_names_are_listed_once_for_many_errors() -> None:
    async def failures() -> list[Failure]:
        errors = (
            AdminError.of_kafka(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic", "it does not exist") for _ in names
        )
        return [Failure(name, error) for name, error in zip(names, errors, strict=True)]

    names = [f"topic order{number}" for number in range(100)]
    with FakeCluster(brokers=1, topics=["orders"]) as cluster:
        async with await AdminClient.open(cluster.bootstrap) as admin:
            before = len(cluster.requests(1))
            rows = await with_suggestions(admin, failures())
            sent = len(cluster.requests(1)) - before

    assert [row.name for row in rows] == names
    assert rows[0].error.text == "it does not exist; did you mean orders?"
    assert sent <= 1


async def test_topic_that_is_marked_for_deletion_is_not_unknown() -> None:
    """Its deletion waits for a dead broker: it is listed, and the controller answers changes as if it did not exist."""
    async with memory_nodes(1, 2, settings=SETTINGS) as (cluster, admin):
        assert not (
            await admin.create_topics({name: NewTopic(assignment={0: [1, 2]}) for name in ("old", "older")})
        ).errors
        await cluster.wait_idle()
        await cluster.kill(2)
        await cluster.wait_idle()
        assert not (await admin.delete_topics(["old"])).errors

        async def failures() -> list[Failure]:
            outcomes = await admin.alter_topics({"old": TopicChange(set_configs={"retention.ms": "7"})})
            return [Failure(name, error) for name, error in outcomes.errors.items()]

        [row] = await with_suggestions(admin, failures())

    assert row.error.text == "topic old is marked for deletion, and cannot be changed"
