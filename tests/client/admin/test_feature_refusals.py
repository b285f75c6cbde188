"""An update of features that is refused names the feature that is the reason, and says of none that it was changed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire.client import AdminClient
from kwire.client.admin import FeaturesRefused, FeatureUpdate
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kwire.messages.kafka.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.client.admin.scripted_broker import ScriptedBroker, scripted_broker

NAMES = ("metadata.version", "metadata", "group.version", "version", "kraft.version")
CODE = int(ErrorCode.INVALID_UPDATE_VERSION)


async def refusal(names: list[str], response: UpdateFeaturesResponse, version: int = 2) -> FeaturesRefused:
    """Return the error of an update of some features that a controller answers with a response of a version."""
    brokers: list[ScriptedBroker] = []

    def respond(request: Any) -> Any:
        if isinstance(request, MetadataRequest):
            me = MetadataResponseBroker(node_id=1, host="127.0.0.1", port=brokers[0].port, rack=None)
            return MetadataResponse(brokers=(me,), cluster_id="scripted", controller_id=1, topics=())
        assert isinstance(request, UpdateFeaturesRequest)
        return response

    async with scripted_broker("kafka", respond, {UpdateFeaturesRequest.api_key: version}) as broker:
        brokers.append(broker)
        async with await AdminClient.open(f"127.0.0.1:{broker.port}") as admin:
            with pytest.raises(FeaturesRefused) as refused:
                await admin.update_features([FeatureUpdate(name, 1) for name in names], compare_brokers=False)
    return refused.value


async def test_text_of_a_refused_request_names_the_feature() -> None:
    """Since 4.0, the controller refuses the whole request, and only its text names the feature."""
    source = random.Random(39)
    for _ in range(20):
        names = source.sample(NAMES, source.randint(2, len(NAMES)))
        culprit = source.choice(names)
        text = f"Invalid update version 99 for feature {culprit}. Only levels below 2 are supported."
        error = await refusal(
            names, UpdateFeaturesResponse(throttle_time_ms=0, error_code=CODE, error_message=text, results=())
        )
        assert (error.item, error.text) == (culprit, text)
        assert [outcome and outcome.item for outcome in error.outcomes.values()] == [culprit] * len(names)


async def test_text_without_a_feature_blames_none() -> None:
    error = await refusal(
        ["metadata.version", "version"],
        UpdateFeaturesResponse(
            throttle_time_ms=0, error_code=CODE, error_message="The controller is busy with metadata.", results=()
        ),
    )
    assert error.item == ""
    assert all(error.outcomes.values())


async def test_features_before_4_0_are_changed_each_for_itself() -> None:
    response = UpdateFeaturesResponse(
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        results=(
            UpdatableFeatureResult(feature="group.version", error_code=0, error_message=None),
            UpdatableFeatureResult(feature="version", error_code=CODE, error_message="no"),
        ),
    )
    error = await refusal(["group.version", "version"], response, version=1)
    assert error.item == "version"
    assert error.outcomes["group.version"] is None
