"""`kafka features describe`."""

from __future__ import annotations

from dataclasses import dataclass

from kwire.verbs.verb import Rows, Run, verb


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature. See `kwire.client.admin.FeatureDescription`."""

    name: str
    supported_min: int | None
    supported_max: int | None
    finalized: int | None


@verb(dialects=("kafka",), examples=("features describe",))
async def describe(run: Run) -> Rows[Feature]:
    """Describe the features that a broker supports and their levels in the cluster."""
    rows: Rows[Feature] = []
    for each in await run.admin.describe_features():
        lowest, highest = each.supported or (None, None)
        rows.append(Feature(each.name, lowest, highest, each.finalized))
    return rows
