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

    from kwire.client.admin import AdminError
    from kwire_admin.compat.script import ScriptRun

METADATA = "metadata.version"
METADATA_VERSIONS = (
    *("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0"),
    *("3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1"),
    *("3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3"),
    *("4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0", "4.4-IV0", "4.4-IV1", "4.4-IV2", "4.5-IV0"),
)
"""The names of the levels of metadata.version from 1 on, as Kafka 4.4.0 knows them (`MetadataVersion.java`)."""
MINIMUM, LATEST_PRODUCTION = "3.3-IV3", "4.4-IV2"
"""The lowest level of metadata.version that Kafka 4.4.0 supports, and the level of a new cluster."""
DEFAULT_LEVELS = {
    "kraft.version": {"3.9-IV0": 1},
    "transaction.version": {"4.0-IV2": 2},
    "group.version": {"4.0-IV0": 1},
    "eligible.leader.replicas.version": {"4.1-IV0": 1},
    "share.version": {"4.2-IV0": 1, "4.4-IV0": 2},
    "streams.version": {"4.2-IV1": 1},
}
"""The default levels of features by the metadata.version since which they hold; before, and without one, it is 0.

As in `Feature.java` of Kafka 4.4.0, where the last one is the highest level of the feature as well."""
DEPENDENCIES = {("eligible.leader.replicas.version", 1): "4.0-IV1"}
"""The metadata.version that a level of a feature needs, if it needs one."""


async def run(run: ScriptRun) -> None:
    """Describe or change the features of a cluster.

    Raises:
        ScriptUsageError: the arguments do not fit together.
        ScriptFailed: a feature was refused.
    """
    await choose_command("kafka-features", run.values, COMMANDS)(run)


async def _describe(run: ScriptRun) -> None:
    admin, node = await run.admin(), read_number("kafka-features", run.values, "--node-id/-n")
    if node is None:
        features = await admin.describe_features()
    else:
        features = (await admin.describe_features_of_brokers([node]))[node]
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


def _level(feature: str, level: int) -> str:
    if feature != METADATA:
        return str(level)
    return METADATA_VERSIONS[level - 1] if 1 <= level <= len(METADATA_VERSIONS) else f"UNKNOWN {level}"


async def _update(run: ScriptRun) -> None:
    values = run.values
    [command] = values.words
    levels: dict[str, int] = {}
    for text in values.all("feature"):
        if command == "disable":
            levels[text.partition("=")[0]] = 0
            continue
        name, level = _feature_level(text)
        levels[name] = level
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


async def _version_mapping(run: ScriptRun) -> None:
    """Print the default levels of features in a release, without a cluster."""
    release = run.values.get("release-version") or LATEST_PRODUCTION
    supported = METADATA_VERSIONS[METADATA_VERSIONS.index(MINIMUM) :]
    names = [name for name in supported if name == release or re.fullmatch(rf"{re.escape(release)}-IV\d+", name)]
    if not names:
        raise ScriptFailed(
            f"Unknown metadata.version '{release}'. Supported metadata.version are: {', '.join(supported)}"
        )
    metadata = METADATA_VERSIONS.index(names[-1])
    run.print(f"{METADATA}={metadata + 1} ({release})")
    for name, levels in DEFAULT_LEVELS.items():
        since = [level for version, level in levels.items() if METADATA_VERSIONS.index(version) <= metadata]
        run.print(f"{name}={since[-1] if since else 0}")


async def _feature_dependencies(run: ScriptRun) -> None:
    """Print what the levels of features need, without a cluster."""
    texts = run.values.all("feature")
    if not texts:
        raise ScriptFailed("Command line error: argument --feature is required. Type --help for help.")
    for text in texts:
        name, level = _feature_level(text)
        needed = DEPENDENCIES.get((name, level))
        shown = f"{name}={level}"
        if name == METADATA:
            if not METADATA_VERSIONS.index(MINIMUM) < level <= len(METADATA_VERSIONS):
                raise ScriptFailed(f"Unknown {METADATA} {level}")
            shown += f" ({_level(name, level)})"
        elif name not in DEFAULT_LEVELS:
            raise ScriptFailed(f"Unknown feature: {name}")
        elif not 0 <= level <= max(DEFAULT_LEVELS[name].values()):
            raise ScriptFailed(f"No feature:{name} with feature level {level}")
        if needed is None:
            run.print(f"{shown} has no dependencies.")
        else:
            run.print(f"{shown} requires:")
            run.print(f"    {METADATA}={METADATA_VERSIONS.index(needed) + 1} ({needed})")


def _feature_level(text: str) -> tuple[str, int]:
    """Return the name and the level of a text such as `group.version=1`, or raise ScriptFailed."""
    failure = f"Can't parse feature=level string {text}: "
    name, separator, level = text.partition("=")
    if not separator:
        raise ScriptFailed(f"{failure}equals sign not found.")
    if not re.fullmatch(r"[+-]?[0-9]+", level) or not -(2**15) <= int(level) < 2**15:
        raise ScriptFailed(f"{failure}unable to parse {level} as a short.")
    return name, int(level)


COMMANDS = {
    "describe": _describe,
    "upgrade": _update,
    "downgrade": _update,
    "disable": _update,
    "version-mapping": _version_mapping,
    "feature-dependencies": _feature_dependencies,
}


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
