"""UpdateFeatures, key 48: finalizes feature levels, all of them or none (KIP-584).

The response waits until this node, the controller, has seen the new epoch itself, so that a client that then asks it
for ApiVersions finds its changes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip584.update_features import FeatureResult, UpdateFeaturesRequest, UpdateFeaturesResponse
from kwire_cluster.controller.errors import CommandError, NotController, QueueFull
from kwire_cluster.controller.feature_rules import FeatureChange

if TYPE_CHECKING:
    from kwire_cluster.controller.feature_commands import FeatureUpdateOutcome
    from kwire_cluster.node.requests.request_context import RequestContext

ALTER = Permission(AclOperation.ALTER, "Cluster")
PERMISSIONS = (ALTER,)


async def handle(request: UpdateFeaturesRequest, context: RequestContext) -> UpdateFeaturesResponse:
    """Update the finalized features, on the controller."""
    changes = [
        FeatureChange(feature.name, feature.max_version_level, update.allow_downgrade)
        for update in request.feature_updates
        for feature in update.features
    ]
    limit = context.node.settings.max_request_items
    if len(changes) > limit:
        return _failure(ErrorCode.INVALID_REQUEST, f"expected at most {limit:,} features, got {len(changes):,}")
    try:
        async with asyncio.timeout(max(request.timeout_ms, 0) / 1000):
            update = await _update(changes, context)
    except TimeoutError:
        return _failure(ErrorCode.REQUEST_TIMED_OUT, f"no result within {request.timeout_ms} ms: it may still follow")
    except NotController as error:
        return _failure(ErrorCode.NOT_CONTROLLER, error.reason)
    except QueueFull as error:
        return _failure(ErrorCode.REQUEST_TIMED_OUT, error.reason)
    except CommandError as error:
        return _failure(error.code, error.reason)
    results = tuple(
        FeatureResult(feature=name, error_code=error.code, error_message=error.reason)
        for name, error in update.errors.items()
    )
    if results:
        return UpdateFeaturesResponse(
            error_code=results[0].error_code, error_message=results[0].error_message, results=results
        )
    return UpdateFeaturesResponse(error_code=ErrorCode.NO_ERROR)


async def _update(changes: list[FeatureChange], context: RequestContext) -> FeatureUpdateOutcome:
    """Update the features, and wait until this node has seen the result.

    Raises:
        CommandError: the update was rejected or failed; code 1013, another update is in progress.
    """
    features = context.node.features
    context.require(ALTER)
    context.backend.check_active()
    if features.is_updating:
        raise CommandError(ErrorCode.FEATURE_UPDATE_IN_PROGRESS, ErrorCode.FEATURE_UPDATE_IN_PROGRESS.message)
    features.is_updating = True
    try:
        update = await context.backend.update_features(changes, author=context.author)
        if not update.errors:
            await features.wait_epoch(update.epoch)
        return update
    finally:
        features.is_updating = False


def _failure(code: ErrorCode, message: str) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=code, error_message=message)
