"""`kafka features upgrade`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange
from kwire_admin.operations.verbs.feature_levels import LEVEL, parse_levels, set_levels


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
