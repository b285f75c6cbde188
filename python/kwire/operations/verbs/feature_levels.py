"""Levels of features, as arguments write them, and the command that sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.operations.parameters import InvalidArgument, parse_configs
from kwire.operations.verbs.changes import changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.operations.declaration import Rows
    from kwire.operations.run import Run
    from kwire.operations.verbs.changes import ItemChange


def parse_levels(texts: Sequence[str]) -> dict[str, int]:
    """Return levels by feature from texts such as `metadata.version=25`.

    Raises:
        InvalidArgument: a text is not a level, or a feature is given twice.
    """
    if not texts:
        raise InvalidArgument("name at least one feature as NAME=LEVEL")
    levels: dict[str, int] = {}
    for name, level in parse_configs(texts).items():
        if not level.isdecimal():
            raise InvalidArgument(f"level {level!r} of {name} is not a number: write NAME=LEVEL, as features describe")
        levels[name] = int(level)
    return levels


async def set_levels(
    run: Run, levels: dict[str, int], *, downgrade: bool = False, unsafe: bool = False
) -> Rows[ItemChange]:
    """Set the levels of features, or check whether they can be set in a dry run."""
    outcomes = await run.admin.update_features(levels, downgrade=downgrade, unsafe=unsafe, validate_only=run.dry_run)
    if run.wait and not run.dry_run and not any(outcomes.values()):
        await run.admin.wait_until_features(levels, timeout=run.wait, on_progress=run.on_progress)
    return changes(outcomes, "downgraded" if downgrade or unsafe else "upgraded", dry_run=run.dry_run)
