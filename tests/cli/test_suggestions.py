"""Similar names in errors of unknown names."""

from __future__ import annotations

import pytest

from kwire.cli.suggestions import suggest
from kwire.client.admin import AdminClient, AdminError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.testing import FakeCluster


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
            found = await suggest(admin, error, item)

    assert (found.code, found.text) == (code, f"it does not exist{suggestion}")
