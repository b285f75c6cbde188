"""Features of a cluster, supported and finalized (KIP-584), and the versions of APIs that brokers serve (KIP-35).

Examples:
    >>> features = admin.describe_features()
    >>> features.supported_features["transaction.version"]
    SupportedFeature(name='transaction.version', min_version=0, max_version=2)
    >>> admin.describe_api_versions([1])[1][3]  # Metadata
    (0, 13)
"""

from __future__ import annotations

import re

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin import completion
from kwire.client.admin.answer import error_code
from kwire.client.admin.errors import AdminError, ChangeTimeout, NotSupported
from kwire.client.admin.every_broker import at_every_broker
from kwire.client.admin.feature_values import (
    FeatureMetadata,
    FeatureUpdate,
    FinalizedFeature,
    SafeLevel,
    SupportedFeature,
)
from kwire.client.admin.targets import ANY, CONTROLLER, BrokerTarget
from kwire.client.admin.tries import FIRST_PAUSE, back_off
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.client_connection import SOFTWARE_NAME, api_versions_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.answer import Answer
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.session import AdminSession
    from kwire.client.admin.targets import Target
    from kwire.declare import Request
    from kwire.messages.kafka.update_features import UpdateFeaturesRequest

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
"""Types of an update of a feature (KIP-778)."""
LEVELS = 100
"""Levels of a feature that are tried. Kafka 4.4 has fewer than 40, and each takes a request."""


class FeaturesRefused(AdminError):
    """An update of features was refused, at least for one of them.

    The attributes of the error are those of the first feature that was refused. Its item is empty if the cluster
    refused the whole request and does not name a feature.

    Attributes:
        outcomes: the outcome by feature. All or none are changed, except on Kafka before 4.0: a feature that was not
            changed because of another one has the error of the other one, with its item.
    """

    def __init__(self, outcomes: Outcomes) -> None:
        first = next(iter(outcomes.errors.values()))
        super().__init__(first.code, first.name, first.item, first.text, outcomes.attempts)
        self.outcomes = outcomes


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


async def describe_features_of_brokers(
    admin: AdminSession, brokers: Sequence[int] = (), *, unanswered: dict[int, Exception] | None = None
) -> dict[int, FeatureMetadata]:
    """Return the features as each broker reports them, by broker. During an upgrade, brokers support different levels.

    Args:
        brokers: the ids of the brokers; all live brokers if there are none.
        unanswered: receives the errors of brokers that do not answer, if others do; None to raise them.

    Raises:
        BrokerNotFound: no live broker has one of the ids.
    """
    answers = await at_every_broker(admin.router, _features_request(admin), brokers, unanswered=unanswered)
    return {broker: _metadata(answer) for broker, answer in answers.items()}


async def update_features(
    admin: AdminSession,
    updates: Iterable[FeatureUpdate],
    *,
    validate_only: bool = False,
    compare_brokers: bool = True,
) -> FeatureMetadata:
    """Set the levels of features with one request, and return the features after it.

    All of them are set or none, except on Kafka before 4.0. The command is not repeated after a lost response. It
    succeeds once a broker reports the new levels; `wait_until_features` waits for all brokers.

    Args:
        updates: the updates, at most one for each feature.
        validate_only: check the request and change nothing; the features are those as they are.
        compare_brokers: compare the levels with the ranges of every live broker, before anything is sent. The
            error then names the brokers that lack a level, which a controller does not do in all versions.

    Raises:
        FeaturesRefused: 7 the result is not known yet; 42 the level is invalid; 95 the downgrade is not allowed; 96 a
            broker does not support the level, or the features cannot be written; 1013, in a cluster of the drafts,
            another update is in progress.
        ChangeTimeout: the update was accepted, but is not reported in time.
        EncodeError: a level is outside of int16, and the levels are not compared. Nothing was sent.
    """
    requested = tuple(updates)
    if compare_brokers:
        lacking = _missing_support(requested, await describe_features_of_brokers(admin))
        if lacking:
            code = ErrorCode.FEATURE_UPDATE_FAILED
            errors = {name: AdminError.of_kafka(code, name, text) for name, text in lacking.items()}
            raise FeaturesRefused(_all_refused([update.name for update in requested], errors))
    outcomes = await _send_updates(admin, requested, validate_only=validate_only)
    if outcomes.errors:
        raise FeaturesRefused(outcomes)
    if validate_only:
        return await describe_features(admin)
    return (await _updated(admin, requested))._replace(attempts=outcomes.attempts)


async def _send_updates(admin: AdminSession, updates: Sequence[FeatureUpdate], *, validate_only: bool) -> Outcomes:
    names = [update.name for update in updates]
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        failed, whole, attempts = await kip4_topics.update_features(admin, updates, validate_only=validate_only)
        is_accepted = not failed and whole is None
        return Outcomes(dict.fromkeys(names), attempts) if is_accepted else _all_refused(names, failed, whole, attempts)
    from kwire.messages.kafka.update_features import FeatureUpdateKey, UpdateFeaturesRequest

    def type_of(update: FeatureUpdate) -> int:
        return UNSAFE_DOWNGRADE if update.unsafe else SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE

    request = UpdateFeaturesRequest(
        timeout_ms=admin.router.timeout_ms,
        feature_updates=tuple(
            FeatureUpdateKey(
                feature=update.name, max_version_level=update.max_version_level, upgrade_type=type_of(update)
            )
            for update in updates
        ),
        validate_only=validate_only,
    )
    answer = await admin.router.command(
        request, CONTROLLER, error_code, repeatable=validate_only, adapt=_with_flags_only
    )
    if answer.response.error_code:  # since 4.0, all features are changed or none
        return _all_refused(names, {}, answer.error(answer.response, ""), answer.attempts)
    results = {result.feature: result for result in answer.response.results if result.error_code}
    return answer.outcomes((name, results.get(name, answer.response)) for name in names)


def _with_flags_only(request: UpdateFeaturesRequest, version: int) -> UpdateFeaturesRequest:
    """Return a request for a version. Version 0 has a flag in place of types, and no check.

    Raises:
        NotSupported: the request is to be validated only.
    """
    if version >= 1:
        return request
    if request.validate_only:
        raise NotSupported("a check of features", "brokers have it from Kafka 3.3 on (KIP-778)")
    from kwire.messages.kafka.update_features import FeatureUpdateKey, UpdateFeaturesRequest

    return UpdateFeaturesRequest(
        timeout_ms=request.timeout_ms,
        feature_updates=tuple(
            FeatureUpdateKey(
                feature=update.feature,
                max_version_level=update.max_version_level,
                allow_downgrade=update.upgrade_type != UPGRADE,
            )
            for update in request.feature_updates
        ),
    )


def _all_refused(
    names: Sequence[str], errors: Mapping[str, AdminError], whole: AdminError | None = None, attempts: int = 1
) -> Outcomes:
    """Return the outcomes of an update that changed no feature, although some of them have no error of their own.

    Args:
        names: the features of the update.
        errors: the errors of single features.
        whole: the error of the whole request, if there is no other. Its text may name a feature, as Kafka's does.
        attempts: number of times that the request was sent.
    """
    if not errors and whole is not None:
        # Names such as "version" are also words of the text, which writes "feature" before the name.
        named = [name for name in names if _is_named(name, whole.text, "feature ")]
        named = named or [name for name in names if _is_named(name, whole.text)]
        item = names[0] if len(names) == 1 else named[0] if len(named) == 1 else ""
        first = type(whole)(whole.code, whole.name, item, whole.text, whole.attempts, whole.needs)
    else:
        first = next(errors[name] for name in names if name in errors)
    return Outcomes({name: errors.get(name, first) for name in names}, attempts)


def _is_named(name: str, text: str, before: str = "") -> bool:
    return re.search(rf"(?<![\w.-]){before}{re.escape(name)}(?![\w-]|\.\w)", text) is not None


def _missing_support(updates: Iterable[FeatureUpdate], brokers: Mapping[int, FeatureMetadata]) -> dict[str, str]:
    """Return by feature the brokers that do not support its new level, as a sentence. Deletions need no support."""
    missing: dict[str, str] = {}
    for update in updates:
        lacking: dict[str, list[int]] = {}
        for broker, described in sorted(brokers.items()):
            supported = described.supported_features.get(update.name)
            if supported is None:
                lacking.setdefault("unknown there", []).append(broker)
            elif not supported.min_version <= update.max_version_level <= supported.max_version:
                only = f"{supported.min_version} to {supported.max_version}"
                lacking.setdefault(only, []).append(broker)
        if lacking and update.max_version_level > 0:
            texts = (f"{', '.join(map(str, ids))} ({why})" for why, ids in lacking.items())
            missing[update.name] = (
                f"level {update.max_version_level} is not supported by the brokers {', '.join(texts)}"
            )
    return missing


async def lowest_safe_level(admin: AdminSession, name: str) -> SafeLevel:
    """Return the lowest level to which a finalized feature can be lowered without a loss, and why not lower.

    Kafka's controller is asked to check a safe downgrade to each lower level, without making it (KIP-778). Nodes
    declare the level in `supported.features`.

    Raises:
        AdminError: the feature is not finalized, or the cluster cannot be asked.
    """
    level = (await describe_features(admin)).level(name)
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_topics

        return await kip4_topics.lowest_safe_level(admin, name, level)
    return await lowest_accepted_level(admin, name, level)


async def lowest_accepted_level(admin: AdminSession, name: str, level: int) -> SafeLevel:
    """Return the lowest level to which Kafka's controller would lower a feature from its finalized level."""
    safe, reason = level, None if level else "the feature is not finalized"
    for lower in range(level - 1, -1, -1):
        if level - lower > LEVELS:
            reason = f"levels below {safe} were not tried"
            break
        outcomes = await _send_updates(admin, [FeatureUpdate(name, lower, allow_downgrade=True)], validate_only=True)
        error = outcomes[name]
        if error is not None:
            reason = error.text
            break
        safe = lower
    return SafeLevel(safe, reason)


async def _updated(admin: AdminSession, updates: Sequence[FeatureUpdate]) -> FeatureMetadata:
    """Wait until a broker reports new levels, and return its features."""
    cache = admin.router.metadata
    deadline = cache.clock() + admin.router.timeout
    pause = FIRST_PAUSE
    while True:
        features = await describe_features(admin)
        missing = [update.name for update in updates if features.level(update.name) != max(update.max_version_level, 0)]
        if not missing:
            return features
        if cache.clock() >= deadline:
            raise ChangeTimeout("updated", admin.router.timeout, {f"{features.host}:{features.port}": missing})
        pause = await back_off(pause)


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
        described = await _describe_features(admin, BrokerTarget(broker_id))
        return {name: {"level": described.level(name)} for name in levels}

    await completion.wait_for_values(admin.router, expected, reported, timeout, on_progress)


async def _describe_features(admin: AdminSession, target: Target) -> FeatureMetadata:
    return _metadata(await admin.router.read(_features_request(admin), target, error_code))


def _features_request(admin: AdminSession) -> Request[Any]:
    """Return a request for the features as they are now; the features that a connection knows are as old as it."""
    if admin.dialect == "kafka":
        return api_versions_request()
    from kwire import __version__
    from kwire.messages.kip584.api_versions import ApiVersionsRequest

    return ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)


def _metadata(answer: Answer[Any]) -> FeatureMetadata:
    response, endpoint = answer.accepted(), answer.endpoint
    return FeatureMetadata(
        {
            feature.name: FinalizedFeature(feature.name, feature.min_version_level, feature.max_version_level)
            for feature in response.finalized_features
        },
        response.finalized_features_epoch,
        {
            feature.name: SupportedFeature(feature.name, feature.min_version, feature.max_version)
            for feature in response.supported_features
        },
        endpoint.host,
        endpoint.port,
    )


async def describe_api_versions(
    admin: AdminSession, brokers: Sequence[int] = (), *, unanswered: dict[int, Exception] | None = None
) -> dict[int, dict[int, tuple[int, int]]]:
    """Return the lowest and highest version of each API key that brokers serve, by broker.

    Args:
        brokers: the ids of the brokers; all live brokers if there are none.
        unanswered: receives the errors of brokers that do not answer, if others do; None to raise them.

    Raises:
        BrokerNotFound: no live broker has one of the ids.
    """
    answers = await at_every_broker(admin.router, _features_request(admin), brokers, unanswered=unanswered)
    return {
        broker: {api.api_key: (api.min_version, api.max_version) for api in answer.accepted().api_keys}
        for broker, answer in answers.items()
    }
