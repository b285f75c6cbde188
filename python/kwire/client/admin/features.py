"""Features of a cluster: what brokers support, and the levels that are finalized (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.client.admin import completion
from kwire.client.admin.answer import error_code
from kwire.client.admin.cluster_router import ANY, CONTROLLER, FIRST_PAUSE, Broker, back_off
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.values import Outcomes
from kwire.protocol.client_connection import SOFTWARE_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.completion import ProgressCallback
    from kwire.declare import Request
    from kwire.protocol.negotiated_versions import Dialect

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""Types of an update of a feature (KIP-778)."""


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


class FeatureOperations:
    """Operations on features."""

    dialect: Dialect
    _router: ClusterRouter
    _features_epoch: int = -1
    """The highest epoch that a broker has reported."""

    async def describe_features(self) -> FeatureMetadata:
        """Return the features of the cluster as one broker reports them.

        Brokers hear of changes one after the other. An epoch below one that was seen before is not returned: a broker
        is asked again, until the timeout.

        Raises:
            AdminError: 42 all brokers report an epoch below one that was seen before.
        """
        deadline = self._router.metadata.clock() + self._router.timeout
        pause = FIRST_PAUSE
        while True:
            found = await self._describe_features(ANY)
            if found.epoch >= self._features_epoch or found.epoch < 0:
                self._features_epoch = max(self._features_epoch, found.epoch)
                return found
            if self._router.metadata.clock() >= deadline:
                known = f"and epoch {self._features_epoch} is known"
                text = f"{found.host}:{found.port} reports epoch {found.epoch}, {known}"
                raise AdminError.of_kafka(42, "features", text)
            pause = await back_off(pause)

    async def update_features(
        self, levels: Mapping[str, int], *, downgrade: bool = False, unsafe: bool = False, validate_only: bool = False
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
        from kwire.messages.kafka.update_features import FeatureUpdateKey, UpdateFeaturesRequest

        if self.dialect == "kip4":
            return await self._update_kip4(levels, downgrade=downgrade or unsafe, validate_only=validate_only)
        kind = UNSAFE_DOWNGRADE if unsafe else SAFE_DOWNGRADE if downgrade else UPGRADE
        request = UpdateFeaturesRequest(
            timeout_ms=int(self._router.timeout * 1000),
            feature_updates=tuple(
                FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
                for name, level in levels.items()
            ),
            validate_only=validate_only,
        )
        answer = await self._router.command(request, CONTROLLER, error_code, repeatable=validate_only)
        failed = {each.feature: each for each in answer.response.results if each.error_code}
        return answer.outcomes((name, failed.get(name, answer.response)) for name in levels)

    async def wait_until_features(
        self, levels: Mapping[str, int], *, timeout: float = 30.0, on_progress: ProgressCallback | None = None
    ) -> None:
        """Wait until every broker reports these levels. See `wait_until_created` for the other arguments.

        Args:
            levels: the finalized level by feature; 0 for a feature that is not finalized.
        """
        expected = {name: {"level": level} for name, level in levels.items()}

        async def reported(broker_id: int) -> Mapping[str, Mapping[str, int]]:
            found = (await self._describe_features(Broker(broker_id))).finalized_features
            return {name: {"level": found[name].max_version_level if name in found else 0} for name in levels}

        await completion.wait_for_values(self._router, expected, reported, timeout, on_progress)

    async def _update_kip4(self, levels: Mapping[str, int], *, downgrade: bool, validate_only: bool) -> Outcomes:
        from kwire.messages.kip584.update_features import Feature, FeatureUpdate
        from kwire.messages.kip584.update_features import UpdateFeaturesRequest as DraftUpdateFeaturesRequest

        if validate_only:
            raise NotSupported("a dry run", "UpdateFeatures of KIP-584 cannot validate without changing something")
        features = tuple(Feature(name=name, max_version_level=level) for name, level in levels.items())
        request = DraftUpdateFeaturesRequest(
            timeout_ms=int(self._router.timeout * 1000),
            feature_updates=(FeatureUpdate(allow_downgrade=downgrade, features=features),),
        )
        answer = await self._router.command(request, CONTROLLER, error_code)
        failed = {each.feature: each for each in answer.response.results}
        results = {name: failed.get(name, answer.response) for name in levels}
        return Outcomes(
            {name: _draft_error(each, name, answer.attempts) for name, each in results.items()}, answer.attempts
        )

    async def _describe_features(self, target: Target) -> FeatureMetadata:
        answer: Answer[Any] = await self._router.read(_api_versions(self.dialect), target, error_code)
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


def _api_versions(dialect: Dialect) -> Request[Any]:
    """Return a request for the features as they are now; those of the connection are as old as the connection."""
    from kwire import __version__
    from kwire.messages.kafka.api_versions import ApiVersionsRequest
    from kwire.messages.kip584.api_versions import ApiVersionsRequest as DraftApiVersionsRequest

    request = DraftApiVersionsRequest if dialect == "kip4" else ApiVersionsRequest
    return request(client_software_name=SOFTWARE_NAME, client_software_version=__version__)


def _draft_error(result: Any, feature: str, attempts: int) -> AdminError | None:
    if not result.error_code:
        return None
    return AdminError.of_kip4(result.error_code, feature, result.error_message, attempts)
