"""`kafka features downgrade`."""

from __future__ import annotations

from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.changes import ItemChange
from kwire_admin.operations.verbs.feature_levels import LEVEL, parse_levels, set_levels


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
