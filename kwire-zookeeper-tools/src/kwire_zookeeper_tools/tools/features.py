"""The tool `features`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from kwire.client.admin import AdminClient, FeatureMetadata, FeaturesRefused, FeatureUpdate
from kwire_admin.operations.declaration import ANYWHERE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option, parse_configs
from kwire_zookeeper_tools.tool_run import ToolRun

WAIT_SECONDS = 30.0
"""Time to wait until every broker reports a level."""


class Action(StrEnum):
    """An action on features."""

    DESCRIBE = "describe"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLE = "disable"
    UPGRADE_ALL = "upgrade-all"
    DOWNGRADE_ALL = "downgrade-all"


@operation(
    runs_on=ANYWHERE,
    needs={Need.BROKERS, Need.ZOOKEEPER},
    dangers={action.value: Danger.CHANGES for action in Action if action is not Action.DESCRIBE},
    replaces=("kafka.admin.FeatureCommand", "org.apache.kafka.tools.FeatureCommand"),
    examples=("describe", "upgrade --feature group_coordinator=3", "downgrade-all --dry-run"),
)
async def features(
    run: ToolRun,
    action: Annotated[Action, Argument("What to do.", "|".join(Action))] = Action.DESCRIBE,
    feature: Annotated[list[str], Option("A feature, for upgrade and downgrade with its level.", "NAME[=LEVEL]")] = [],
    unsafe: Annotated[bool, Option("Allow a downgrade that loses metadata.")] = False,
    dry_run: Annotated[bool, Option("Let the cluster check what would change, and change nothing.")] = False,
) -> None:
    """Describe and change the finalized features of a cluster, with the output of Kafka's tool.

    upgrade-all finalizes every supported feature at its highest level. downgrade-all deletes the features that the
    cluster does not support, and lowers the others to the highest supported level.
    """
    admin = await run.admin()
    described = await admin.describe_features()
    if action is Action.DESCRIBE:
        _describe(run, described)
        return
    levels = _levels(action, feature, described)
    lowers = action in {Action.DOWNGRADE, Action.DISABLE, Action.DOWNGRADE_ALL}
    failures = 0
    for name, level in levels.items():
        update = FeatureUpdate(name, level, allow_downgrade=lowers, unsafe=unsafe)
        error = await _update(admin, update, dry_run=dry_run)
        before = described.finalized_features.get(name)
        old = 0 if before is None else before.max_version_level
        what = "Add" if old == 0 else "Delete" if level == 0 else "Upgrade" if level > old else "Downgrade"
        result = f"FAILED due to {error}" if error is not None else "dry run" if dry_run else "OK"
        run.print(
            f"      {f'[{what}]':<11}\tFeature: {name}\tExistingFinalizedMaxVersion: {old or '-'}"
            f"\tNewFinalizedMaxVersion: {level or '-'}\tResult: {result}"
        )
        failures += error is not None
    if failures:
        raise ToolFailed(f"{failures} of {len(levels)} updates failed")


async def _update(admin: AdminClient, update: FeatureUpdate, *, dry_run: bool) -> str | None:
    """Update one feature, or let the controller check the update, and return the reason of a failure.

    Raises:
        NotSupported: a cluster of the drafts cannot check it.
    """
    try:
        await admin.update_features([update], validate_only=dry_run)
    except FeaturesRefused as error:
        return error.text
    if not dry_run:
        await admin.wait_until_features({update.name: update.max_version_level}, timeout=WAIT_SECONDS)
    return None


def _describe(run: ToolRun, described: FeatureMetadata) -> None:
    epoch = described.epoch if described.epoch >= 0 else "-"
    for name in sorted({*described.supported_features, *described.finalized_features}):
        supported, finalized = described.supported_features.get(name), described.finalized_features.get(name)
        run.print(
            f"Feature: {name}"
            f"\tSupportedMinVersion: {'-' if supported is None else supported.min_version}"
            f"\tSupportedMaxVersion: {'-' if supported is None else supported.max_version}"
            f"\tFinalizedMinVersionLevel: {'-' if finalized is None else finalized.min_version_level}"
            f"\tFinalizedMaxVersionLevel: {'-' if finalized is None else finalized.max_version_level}"
            f"\tEpoch: {epoch}"
        )


def _levels(action: Action, texts: list[str], described: FeatureMetadata) -> dict[str, int]:
    """Return the new level of each feature that changes; 0 deletes it."""
    supported, finalized = described.supported_features, described.finalized_features
    if action is Action.UPGRADE_ALL:
        levels = {name: versions.max_version for name, versions in supported.items()}
        return {
            name: level
            for name, level in levels.items()
            if name not in finalized or finalized[name].max_version_level < level
        }
    if action is Action.DOWNGRADE_ALL:
        highest = {name: supported[name].max_version if name in supported else 0 for name in finalized}
        return {name: level for name, level in highest.items() if finalized[name].max_version_level > level}
    if not texts:
        raise InvalidArgument("--feature is missing")
    if action is Action.DISABLE:
        return dict.fromkeys(texts, 0)
    try:
        return {name: int(level) for name, level in parse_configs(texts).items()}
    except ValueError as error:
        raise InvalidArgument(f"--feature: expected NAME=LEVEL: {error}") from None
