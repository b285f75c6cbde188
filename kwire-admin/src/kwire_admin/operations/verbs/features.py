"""`kafka features`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING, Annotated
from kwire.client.admin import FeaturesRefused, FeatureUpdate
from kwire_admin.operations.changes import ItemChange
from kwire_admin.operations.declaration import Failure, Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, InvalidArgument, Option, Syntax, parse_configs
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.visibility import warn_of_unanswered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin import AdminError


LEVEL = Syntax("[^=]+=[0-9]{1,4}", "a level: write NAME=LEVEL, such as metadata.version=25")


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature, or a broker in a cluster without features.

    Attributes:
        name: such as `metadata.version`; None if no broker supports any feature.
        supported_min: the lowest level that the broker supports; None if it does not know the feature.
        supported_max: the highest level.
        finalized: the level of the cluster; None if it has none.
        epoch: the epoch of the finalized features; -1 without one.
        broker: the id of the broker that reports it; a feature has a row for each.
        host: its host.
        port: its port.
        lowest_safe: the lowest level without a loss of metadata, with `--safe`.
        reason: the obstacle to a lower level, with `--safe`.
    """

    name: str | None
    supported_min: int | None
    supported_max: int | None
    finalized: int | None
    epoch: int
    broker: int
    host: str
    port: int
    lowest_safe: int | None = field(default=None, metadata=column(if_known=True))
    reason: str | None = field(default=None, metadata=column(if_known=True))


@operation(examples=("features describe", "features describe --safe"))
async def describe(
    run: Run,
    safe: Annotated[
        bool, Option("Find the lowest level of each feature without a loss, and what prevents a lower one.")
    ] = False,
) -> Rows[Feature]:
    """Describe the features that brokers support, and their levels in the cluster: a row for each broker.

    During an upgrade, brokers support different levels, and hear of new finalized levels one after the other. Brokers
    that support no features are listed without a name.
    """
    rows: Rows[Feature] = []
    unanswered: dict[int, Exception] = {}
    by_broker = await run.admin.describe_features_of_brokers(unanswered=unanswered)
    warn_of_unanswered(run, "features", unanswered)
    newest = max(by_broker.values(), key=lambda features: features.epoch, default=None)
    names = {name for features in by_broker.values() for name in features.supported_features}
    listed: list[str | None] = [*sorted({*names, *(newest.finalized_features if newest is not None else ())})]
    for name in listed or [None]:
        is_finalized = newest is not None and name in newest.finalized_features
        lowest = await run.admin.lowest_safe_level(name) if name is not None and safe and is_finalized else None
        for broker, features in sorted(by_broker.items()):
            supported, finalized = (
                features.supported_features.get(name or ""),
                features.finalized_features.get(name or ""),
            )
            rows.append(
                Feature(
                    name,
                    supported and supported.min_version,
                    supported and supported.max_version,
                    finalized and finalized.max_version_level,
                    features.epoch,
                    broker,
                    features.host,
                    features.port,
                    lowest and lowest.level,
                    lowest and lowest.reason,
                )
            )
    return rows


@operation(
    Danger.CHANGES,
    dangers={"downgrade": Danger.DESTROYS},
    waits=True,
    examples=(
        "features upgrade metadata.version=25 --dry-run",
        "features upgrade transaction.version=2 --downgrade group.version=0 --yes",
    ),
)
async def upgrade(
    run: Run,
    features: Annotated[
        list[str], Argument("Features with their new levels.", "NAME=LEVEL", syntax=LEVEL, item="feature as NAME=LEVEL")
    ],
    downgrade: Annotated[
        list[str], Option("Lower this feature with the same request.", "NAME=LEVEL", syntax=LEVEL)
    ] = [],
) -> Rows[ItemChange]:
    """Raise the levels of features: all of them or none. Brokers that lack a level cannot join any more.

    First, the levels that every live broker supports are compared, and the brokers that lack one are named.
    """
    levels = parse_levels(features)
    lowered = parse_levels(downgrade) if downgrade else {}
    question = f"Downgrade {', '.join(downgrade)}?" if lowered else ""
    return await set_levels(run, levels, lowered, question=question)


@operation(
    Danger.DESTROYS,
    waits=True,
    examples=("features downgrade group.version=0 --yes", "features downgrade metadata.version=20 --unsafe --dry-run"),
)
async def downgrade(
    run: Run,
    features: Annotated[
        list[str],
        Argument(
            "Features with their new levels; 0 disables one.", "NAME=LEVEL", syntax=LEVEL, item="feature as NAME=LEVEL"
        ),
    ],
    unsafe: Annotated[bool, Option("Allow levels that lose metadata.")] = False,
) -> Rows[ItemChange]:
    """Lower the levels of features: all of them or none."""
    levels = parse_levels(features)
    question = f"Downgrade {', '.join(features)}{' and lose metadata' if unsafe else ''}?"
    return await set_levels(run, {}, levels, unsafe=unsafe, question=question)


def parse_levels(texts: Sequence[str]) -> dict[str, int]:
    """Return levels by feature from texts such as `metadata.version=25`.

    Raises:
        InvalidArgument: a text is not a level, or a feature is given twice.
    """
    for text in texts:
        LEVEL.match(text)
    return {name: int(level) for name, level in parse_configs(texts).items()}


async def set_levels(
    run: Run,
    upgrades: Mapping[str, int],
    downgrades: Mapping[str, int],
    *,
    unsafe: bool = False,
    question: str = "",
) -> Rows[ItemChange]:
    """Set the levels of features with one request, or check whether they can be set in a dry run.

    Args:
        run: the run of the verb.
        upgrades: levels of features to be raised.
        downgrades: levels of features to be lowered; 0 disables one.
        unsafe: true to allow levels that lose metadata.
        question: the question before the change, which follows the plan of several changes; empty for no question.

    Raises:
        InvalidArgument: a feature is to be raised and lowered.
    """
    if twice := sorted(upgrades.keys() & downgrades.keys()):
        raise InvalidArgument(f"{twice[0]} is named twice, to be raised and to be lowered")
    updates = [
        *(FeatureUpdate(name, level) for name, level in upgrades.items()),
        *(FeatureUpdate(name, level, allow_downgrade=True, unsafe=unsafe) for name, level in downgrades.items()),
    ]
    if question and not run.dry_run:
        if len(updates) > 1:
            run.show_plan(
                [
                    ItemChange(update.name, f"would be {_participle(update)} to {update.max_version_level}", 0)
                    for update in updates
                ]
            )
        run.confirm(question)
    would = "would be " if run.dry_run else ""
    try:
        updated = await run.admin.update_features(updates, validate_only=run.dry_run)
    except FeaturesRefused as error:
        return [_refused(name, outcome, error.attempts) for name, outcome in error.outcomes.items()]
    if run.wait and not run.dry_run:
        levels = {update.name: update.max_version_level for update in updates}
        await run.admin.wait_until_features(levels, timeout=run.wait, on_progress=run.on_progress)
    return [ItemChange(update.name, f"{would}{_participle(update)}", updated.attempts) for update in updates]


def _participle(update: FeatureUpdate) -> str:
    return "downgraded" if update.allow_downgrade else "upgraded"


def _refused(name: str, outcome: AdminError | None, attempts: int) -> Failure | ItemChange:
    """Return the row of a feature in an update that was refused."""
    if outcome is None:  # Kafka before 4.0 changes each feature for itself
        return ItemChange(name, "changed", attempts)
    if outcome.item and outcome.item != name:
        return ItemChange(name, "not changed: another feature was refused", attempts)
    return Failure(name, outcome)
