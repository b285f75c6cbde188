"""`kafka-features`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire.client.admin import FeaturesRefused, FeatureUpdate
from kwire_admin.compat.commands import choose_command, read_number
from kwire_admin.compat.options import ScriptOption
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin import AdminClient, AdminError, FeatureMetadata
    from kwire_admin.compat.script import ScriptRun

METADATA = "metadata.version"
METADATA_VERSIONS = (
    *("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0"),
    *("3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1"),
    *("3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3"),
    *("4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0", "4.4-IV0", "4.4-IV1", "4.4-IV2", "4.5-IV0"),
)
"""The names of the levels of metadata.version from 1 on, as Kafka 4.4.0 knows them (`MetadataVersion.java`)."""


async def run(run: ScriptRun) -> None:
    """Describe or change the features of a cluster.

    Raises:
        ScriptUsageError: the arguments do not fit together.
        ScriptFailed: a feature was refused.
    """
    await choose_command("kafka-features", run.values, COMMANDS)(run)


async def _describe(run: ScriptRun) -> None:
    admin, node = await run.admin(), read_number("kafka-features", run.values, "--node-id/-n")
    features = await admin.describe_features() if node is None else await _features_of(admin, node)
    epoch = features.epoch if features.epoch >= 0 else "-"
    for name, supported in sorted(features.supported_features.items()):
        finalized = features.finalized_features.get(name)
        highest = _level(name, 0 if finalized is None else finalized.max_version_level)
        level = f"FinalizedVersionLevel: {highest}"
        if admin.dialect == "kip4":  # as in KIP-584, whose finalized levels have a minimum
            lowest = "-" if finalized is None else finalized.min_version_level
            level = (
                f"FinalizedMinVersionLevel: {lowest}\tFinalizedMaxVersionLevel: {'-' if finalized is None else highest}"
            )
        run.print(
            f"Feature: {name}\tSupportedMinVersion: {_level(name, supported.min_version)}"
            f"\tSupportedMaxVersion: {_level(name, supported.max_version)}\t{level}\tEpoch: {epoch}"
        )


async def _features_of(admin: AdminClient, node: int) -> FeatureMetadata:
    """Return the features as one broker reports them."""
    return (await admin.describe_features_of_brokers([node]))[node]


def _level(feature: str, level: int) -> str:
    if feature != METADATA:
        return str(level)
    return METADATA_VERSIONS[level - 1] if 1 <= level <= len(METADATA_VERSIONS) else f"UNKNOWN {level}"


async def _update(run: ScriptRun) -> None:
    values = run.values
    [command] = values.words
    levels: dict[str, int] = {}
    for text in values.all("feature"):
        name, _, level = text.partition("=")
        if command == "disable":
            levels[name] = 0
            continue
        if not level.isdigit():
            raise ScriptFailed(f"Can't parse feature=level string {text}: equals sign not found.")
        levels[name] = int(level)
    metadata = values.get("metadata") or values.get("release-version")
    if metadata is not None:
        levels[METADATA] = _metadata_level(metadata)
    if not levels:
        raise ScriptFailed(f"You must specify at least one feature to {command}")
    dry_run = "dry-run" in values
    admin = await run.admin()
    updates = [
        FeatureUpdate(name, level, allow_downgrade=command != "upgrade", unsafe="unsafe" in values)
        for name, level in levels.items()
    ]
    errors: Mapping[str, AdminError] = {}
    try:
        await admin.update_features(
            updates, validate_only=dry_run, compare_brokers=False
        )  # Kafka's tool does not compare
    except FeaturesRefused as error:
        errors = error.outcomes.errors
    could = "can be" if dry_run else "was"
    done = {"upgrade": "upgraded", "downgrade": "downgraded", "disable": "disabled"}[command]
    for name in sorted(levels):
        target = "" if command == "disable" else f" to {_level(name, levels[name])}"
        if name not in errors:
            run.print(f"{name} {could} {done}{target}.")
        else:
            run.print(f"{'Can not' if dry_run else 'Could not'} {command} {name}{target}. {errors[name].text}")
    if errors:
        raise ScriptFailed(f"{len(errors)} out of {len(levels)} operation(s) failed.")


COMMANDS = {"describe": _describe, "upgrade": _update, "downgrade": _update, "disable": _update}


def _metadata_level(text: str) -> int:
    if re.match(r"[012]\.", text):
        raise ScriptFailed("Cannot specify a negative version level.")  # metadata.version begins with Kafka 3.0
    names = [name for name in METADATA_VERSIONS if name == text or name.startswith(f"{text}-")]
    if names:
        return METADATA_VERSIONS.index(names[-1]) + 1
    raise ScriptFailed(f"Unknown metadata.version '{text}'")


features = Script(
    "kafka-features",
    ("org.apache.kafka.tools.FeatureCommand", "kafka.admin.FeatureCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption("feature", "A feature upgrade, downgrade, or the name of one to disable.", "feature=level"),
        ScriptOption("metadata", "The level to which we should upgrade or downgrade the metadata.", "version"),
        ScriptOption("release-version", "The release version of the metadata to upgrade to.", "version"),
        ScriptOption("node-id", "describe: The broker that reports its features.", "NODE_ID", "Integer", short="n"),
        ScriptOption("unsafe", "Perform this downgrade even if it may irreversibly destroy metadata."),
        ScriptOption("dry-run", "Validate this operation, but do not perform it."),
    ),
    run,
    "",
    fails_on_stdout=False,
)
