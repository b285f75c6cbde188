"""`kafka features describe`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.visibility import warn_of_unanswered


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
