"""Similar names in errors of unknown names."""

from __future__ import annotations

import pytest

from kwire.client.admin import AdminClient, AdminError
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.testing import FakeCluster
from kwire.verbs.suggestions import with_suggestion
from kwire.verbs.verb import Failure


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
            found = await with_suggestion(admin, Failure(item, error))

    assert (found.error.code, found.error.text) == (code, f"it does not exist{suggestion}")
