"""Features of a cluster, supported and finalized (KIP-584), and the versions of APIs that brokers serve (KIP-35)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.client.admin import completion
from kwire.client.admin.answer import error_code
from kwire.client.admin.cluster_router import ANY, FIRST_PAUSE, BrokerTarget, back_off
from kwire.client.admin.errors import AdminError
from kwire.client.admin.every_broker import at_every_broker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.backend import AdminSession
    from kwire.client.admin.cluster_router import Target
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.values import Outcomes


class SupportedFeature(NamedTuple):
    """The levels of a feature that a broker supports."""

    name: str
    min_version: int
    max_version: int


class FinalizedFeature(NamedTuple):
    """The finalized levels of a feature, for the whole cluster."""

    name: str
    min_version_level: int
    max_version_level: int


class FeatureMetadata(NamedTuple):
    """Features as one broker reports them.

    Attributes:
        finalized_features: the finalized features by name.
        epoch: their epoch, which increases with every change; -1 if features are disabled or have no epoch.
        supported_features: the features that the broker supports, by name.
        host: the host of the broker.
        port: its port.
    """

    finalized_features: Mapping[str, FinalizedFeature]
    epoch: int
    supported_features: Mapping[str, SupportedFeature]
    host: str
    port: int


async def describe_features(admin: AdminSession) -> FeatureMetadata:
    """Return the features of the cluster as one broker reports them.

    Brokers hear of changes one after the other. An epoch below one that was reported before is not returned: a broker
    is asked again, until the timeout.

    Raises:
        AdminError: 42 all brokers report an epoch below one that was seen before.
    """
    cache = admin.router.metadata
    deadline = cache.clock() + admin.router.timeout
    pause = FIRST_PAUSE
    while True:
        features = await _describe_features(admin, ANY)
        if features.epoch >= cache.features_epoch or features.epoch < 0:
            cache.features_epoch = max(cache.features_epoch, features.epoch)
            return features
        if cache.clock() >= deadline:
            broker = f"{features.host}:{features.port}"
            text = f"{broker} reports epoch {features.epoch}, and epoch {cache.features_epoch} is known"
            raise AdminError.of_kafka(42, "features", text)
        pause = await back_off(pause)


async def update_features(
    admin: AdminSession,
    levels: Mapping[str, int],
    *,
    downgrade: bool = False,
    unsafe: bool = False,
    validate_only: bool = False,
) -> Outcomes:
    """Set the levels of features: all of them or none. The command is not repeated after a lost response.

    Errors: 7 the result is not known yet; 42 the level is invalid; 95 a broker does not support it; 96 the features
    cannot be written; 1013, in a cluster of the drafts, another update is in progress.

    Args:
        levels: the new level by feature; 0 disables it.
        downgrade: allow lower levels than now, on Kafka if no metadata is lost.
        unsafe: allow lower levels even if metadata is lost.
        validate_only: check the request and change nothing. The drafts do not support it.
    """
    return await admin.backend.update_features(levels, downgrade=downgrade, unsafe=unsafe, validate_only=validate_only)


async def wait_until_features(
    admin: AdminSession,
    levels: Mapping[str, int],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports these levels. See `wait_until_created` for the other arguments.

    Args:
        levels: the finalized level by feature; 0 for a feature that is not finalized.
    """
    expected = {name: {"level": level} for name, level in levels.items()}

    async def reported(broker_id: int) -> Mapping[str, Mapping[str, int]]:
        finalized = (await _describe_features(admin, BrokerTarget(broker_id))).finalized_features
        return {name: {"level": finalized[name].max_version_level if name in finalized else 0} for name in levels}

    await completion.wait_for_values(admin.router, expected, reported, timeout, on_progress)


async def _describe_features(admin: AdminSession, target: Target) -> FeatureMetadata:
    answer: Answer[Any] = await admin.router.read(admin.backend.features_request(), target, error_code)
    response, endpoint = answer.response, answer.endpoint
    return FeatureMetadata(
        {
            each.name: FinalizedFeature(each.name, each.min_version_level, each.max_version_level)
            for each in response.finalized_features
        },
        response.finalized_features_epoch,
        {
            each.name: SupportedFeature(each.name, each.min_version, each.max_version)
            for each in response.supported_features
        },
        endpoint.host,
        endpoint.port,
    )


async def describe_api_versions(
    admin: AdminSession, brokers: Sequence[int] = ()
) -> dict[int, dict[int, tuple[int, int]]]:
    """Return the lowest and highest version of each API key that brokers serve, by broker.

    Args:
        brokers: the ids of the brokers; all live brokers if there are none.

    Raises:
        BrokerNotFound: no live broker has one of the ids.
    """
    answers = await at_every_broker(admin.router, admin.backend.features_request(), brokers)
    return {
        broker: {api.api_key: (api.min_version, api.max_version) for api in answer.accepted().api_keys}
        for broker, answer in answers.items()
    }
