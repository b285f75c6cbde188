"""A dry run of the tool `features` is a check by the cluster, as of the verb and of Kafka's script."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kwire.messages.kafka.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from kwire_admin.operations.registry import find_tool
from kwire_zookeeper_tools.tool_runner import run_tool_words
from tests.client.admin.scripted_broker import ScriptedBroker, scripted_broker


async def dry_run(*words: str, code: int = 0) -> tuple[int, str, list[UpdateFeaturesRequest]]:
    """Return exit status and output of the tool, and the requests that it has sent."""
    brokers: list[ScriptedBroker] = []

    def respond(request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            me = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=brokers[0].port, rack=None)
            return MetadataResponse(brokers=(me,), cluster_id="scripted", controller_id=1, topics=())
        assert isinstance(request, UpdateFeaturesRequest)
        return UpdateFeaturesResponse(
            throttle_time_ms=0, results=(), error_code=code, error_message="the controller says no" if code else None
        )

    tool = find_tool("features")
    assert tool is not None
    async with scripted_broker("kafka", respond) as broker:
        brokers.append(broker)
        result = await run_tool_words(tool, [*words, "--bootstrap-server", f"127.0.0.1:{broker.port}"])
    sent = [request for request in broker.received if isinstance(request, UpdateFeaturesRequest)]
    return result.exit_status, result.output, sent


@pytest.mark.parametrize("code", [0, int(ErrorCode.INVALID_UPDATE_VERSION)])
@pytest.mark.parametrize(
    ("words", "can", "cannot"),
    [
        (
            ("upgrade", "--feature", "metadata.version=99"),
            "metadata.version can be upgraded to UNKNOWN 99.",
            "Can not upgrade metadata.version to UNKNOWN 99. the controller says no",
        ),
        (
            ("disable", "--feature", "group.version"),
            "group.version can be disabled.",
            "Can not disable group.version. the controller says no",
        ),
    ],
    ids=["upgrade", "disable"],
)
async def test_controller_checks_a_dry_run(words: tuple[str, ...], can: str, cannot: str, code: int) -> None:
    status, output, [request] = await dry_run(*words, "--dry-run", code=code)
    assert request.validate_only
    assert (status, output.splitlines()) == ((1, [cannot]) if code else (0, [can]))
