"""`kafka features upgrade`."""

from __future__ import annotations

from typing import Annotated

from kwire.operations.declaration import Rows, operation
from kwire.operations.parameters import Argument, Danger
from kwire.operations.run import Run
from kwire.operations.verbs.changes import ItemChange
from kwire.operations.verbs.feature_levels import parse_levels, set_levels


@operation(Danger.CHANGES, waits=True, examples=("features upgrade metadata.version=25 --dry-run",))
async def upgrade(
    run: Run, features: Annotated[list[str], Argument("Features with their new levels.", "NAME=LEVEL")]
) -> Rows[ItemChange]:
    """Raise the levels of features: all of them or none. Brokers that lack a level cannot join any more."""
    return await set_levels(run, parse_levels(features))
