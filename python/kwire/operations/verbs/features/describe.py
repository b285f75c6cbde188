"""`kafka features describe`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from kwire.operations.declaration import Rows, operation
from kwire.operations.parameters import Option
from kwire.operations.rows import column
from kwire.operations.run import Run


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature.

    Attributes:
        name: such as `metadata.version`.
        supported_min: the lowest level that the broker supports; None if it does not know the feature.
        supported_max: the highest level.
        finalized: the level of the cluster; None if it has none.
        epoch: the epoch of the finalized features; -1 without one.
        lowest_safe: the lowest level without a loss of metadata, with `--safe`.
        reason: the obstacle to a lower level, with `--safe`.
    """

    name: str
    supported_min: int | None
    supported_max: int | None
    finalized: int | None
    epoch: int
    lowest_safe: int | None = field(default=None, metadata=column(if_known=True))
    reason: str | None = field(default=None, metadata=column(if_known=True))


@operation(nothing="The broker supports no features.", examples=("features describe", "features describe --safe"))
async def describe(
    run: Run,
    safe: Annotated[
        bool, Option("Find the lowest level of each feature without a loss, and what prevents a lower one.")
    ] = False,
) -> Rows[Feature]:
    """Describe the features that a broker supports and their levels in the cluster."""
    rows: Rows[Feature] = []
    features = await run.admin.describe_features()
    for name in sorted({*features.supported_features, *features.finalized_features}):
        supported, finalized = features.supported_features.get(name), features.finalized_features.get(name)
        lowest = await run.admin.lowest_safe_level(name) if safe and finalized else None
        rows.append(
            Feature(
                name,
                supported and supported.min_version,
                supported and supported.max_version,
                finalized and finalized.max_version_level,
                features.epoch,
                lowest and lowest.level,
                lowest and lowest.reason,
            )
        )
    return rows
