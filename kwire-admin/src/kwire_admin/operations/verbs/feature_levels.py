"""Levels of features, as arguments write them, and the command that sets them."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import FeaturesRefused, FeatureUpdate
from kwire_admin.operations.declaration import Failure
from kwire_admin.operations.parameters import InvalidArgument, Syntax, parse_configs
from kwire_admin.operations.verbs.changes import ItemChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.client.admin import AdminError
    from kwire_admin.operations.declaration import Rows
    from kwire_admin.operations.run import Run

LEVEL = Syntax("[^=]+=[0-9]{1,4}", "a level: write NAME=LEVEL, such as metadata.version=25")


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
