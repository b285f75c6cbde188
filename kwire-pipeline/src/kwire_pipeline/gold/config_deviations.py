"""`config_deviations`: configs that differ from the desired ones, which `set_desired_configs` stores.

Desired configs are stated for whole resources: an override that the desired configs of its resource lack deviates too.
A resource that no broker has described yet does not deviate, and neither do configs without a readable value (sensitive
ones).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_pipeline.gold.config_changes import changed_values
from kwire_pipeline.gold.days import OPEN
from kwire_pipeline.gold.diagnosis.signal import SignalKind
from kwire_pipeline.gold.signals import signals_of
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import broadcast, select
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import DESIRED_CONFIGS, CommitRecord, StoreChange
from kwire_pipeline.store.snapshot import Snapshot
from kwire_pipeline.store.table_files import Output, TableFile
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kwire_pipeline.gold.view import GoldBuild

_RESOURCE = (
    Column("cluster_id", "string", "the cluster"),
    Column("resource_type", "string", "'topic', 'broker' or 'cluster' (the default of all brokers)"),
    Column("resource", "string", "the topic or broker; empty for the cluster"),
    Column("key", "string", "the name of the config"),
)

DESIRED = GoldTable(
    DESIRED_CONFIGS,
    "The desired configs of resources. All rows are stored as rows without an end.",
    (
        *_RESOURCE,
        Column("value", "string", "the desired value"),
        Column("valid_from", "timestamp", "when it was set", "UTC"),
        Column("valid_to", "timestamp", "when it was replaced; null while it is desired", "UTC"),
    ),
    time="valid_to",
)

TABLE = GoldTable(
    "config_deviations",
    "Configs that differ from the desired ones.",
    (
        *_RESOURCE,
        Column("desired_value", "string", "the desired value; null if the resource should not override the config"),
        Column("value", "string", "the reported value; null if it is not reported"),
        Column("valid_from", "timestamp", "when it was reported first, or when the desired value was set", "UTC"),
        Column("valid_to", "timestamp", "when it ended; null while it lasts", "UTC"),
    ),
    time="valid_to",
)

OWN_SOURCES = {"topic": 1, "broker": 2, "cluster": 3}
"""Kafka's config source of a value that the resource itself has."""

_FOUND = (
    "cluster_id string, resource_type string, resource string, key string, desired_value string, value string, "
    "from_us bigint, to_us bigint"
)
_KEY = ["cluster_id", "resource_type", "resource"]


class ConfigEvent(NamedTuple):
    """A reported or a desired config; `source` None means that it is gone."""

    at: int
    desired: bool
    key: str
    value: str | None
    source: int | None


class Deviation(NamedTuple):
    """A deviation; times are microseconds since 1970, `until` None while it lasts."""

    key: str
    desired_value: str | None
    value: str | None
    since: int
    until: int | None


@dataclass(slots=True)
class ResourceConfigs:
    """The reported and desired configs of one resource, folded in order of time."""

    own_source: int
    _reported: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    _desired: dict[str, str | None] = field(default_factory=dict)
    _open: dict[str, Deviation] = field(default_factory=dict)
    found: list[Deviation] = field(default_factory=list)
    """Deviations that have ended."""

    def apply(self, at: int, events: Iterable[ConfigEvent]) -> None:
        """Apply everything that happened at one time."""
        for event in events:
            if event.desired and event.source is not None:
                self._desired[event.key] = event.value
            elif event.desired:
                self._desired.pop(event.key, None)
            elif event.source is not None:
                self._reported[event.key] = (event.value, event.source)
            else:
                self._reported.pop(event.key, None)
        for key in {*self._desired, *self._reported, *self._open}:
            now, before = self._deviation(at, key), self._open.get(key)
            if before is not None and now is not None and before[:3] == now[:3]:
                continue
            if before is not None:
                self.found.append(self._open.pop(key)._replace(until=at))
            if now is not None:
                self._open[key] = now

    def all(self) -> list[Deviation]:
        """Return all deviations."""
        return [*self.found, *self._open.values()]

    def _deviation(self, at: int, key: str) -> Deviation | None:
        if not self._desired or not self._reported:
            return None
        value, source = self._reported.get(key, (None, None))
        if source is not None and value is None:
            return None
        desired = self._desired.get(key)
        differs = source == self.own_source if desired is None else value != desired
        return Deviation(key, desired, value, at, None) if differs else None


def plan(build: GoldBuild, start: datetime | None, stop: datetime, as_of: datetime | None) -> DataFrame | None:
    """Plan the table, and return the signals; None if no desired configs were ever set."""
    del start, stop, as_of  # the table has the whole history, which is as long as the list of changes
    if not build.files(DESIRED.folder):
        return None
    desired = build.table(DESIRED)
    resources = broadcast(desired.select(*_KEY).distinct())
    rows = _deviations(build.silver("configs"), desired, resources)
    build.replace(TABLE, rows, None)
    return _signals(rows)


def _deviations(configs: DataFrame, desired: DataFrame, resources: DataFrame) -> DataFrame:
    key = ", ".join((*_KEY, "key"))
    reported = changed_values(configs.join(resources, _KEY, "left_semi"), key)
    events = select(reported, f"{key}, unix_micros(at) AS at_us, false AS desired, value, source")
    set_at = select(desired, f"{key}, unix_micros(valid_from) AS at_us, true AS desired, value, 0 AS source")
    ended = select(
        desired.where("valid_to IS NOT NULL"),
        f"""{key}, unix_micros(valid_to) AS at_us, true AS desired, CAST(NULL AS string) AS value,
        CAST(NULL AS int) AS source""",
    )
    folded = events.unionByName(set_at).unionByName(ended).groupBy(*_KEY).applyInArrow(_fold, _FOUND)
    return select(
        folded,
        f"{key}, desired_value, value, timestamp_micros(from_us) AS valid_from, timestamp_micros(to_us) AS valid_to",
    )


def _fold(table: pa.Table) -> pa.Table:
    import pyarrow as pa

    from kwire_pipeline.tables import ddl_schema

    resource = {name: table[name][0].as_py() for name in _KEY}
    configs = ResourceConfigs(OWN_SOURCES.get(resource["resource_type"], 1))
    by_time: dict[int, list[ConfigEvent]] = {}
    for row in table.select(["at_us", "desired", "key", "value", "source"]).to_pylist():
        event = ConfigEvent(*row.values())
        by_time.setdefault(event.at, []).append(event)
    for at in sorted(by_time):
        # At one time, what ended comes before what replaces it.
        configs.apply(at, sorted(by_time[at], key=lambda event: event.source is not None))
    rows: list[dict[str, Any]] = [
        {
            **resource,
            "key": config.key,
            "desired_value": config.desired_value,
            "value": config.value,
            "from_us": config.since,
            "to_us": config.until,
        }
        for config in configs.all()
    ]
    return pa.Table.from_pylist(rows, schema=ddl_schema(_FOUND))


def _signals(deviations: DataFrame) -> DataFrame:
    """Return the beginnings and ends; a deviation that another value continues has not ended."""
    key = ", ".join((*_KEY, "key"))
    rows = select(
        deviations,
        f"""*, lag(valid_to) OVER (PARTITION BY {key} ORDER BY valid_from) AS before,
        lead(valid_from) OVER (PARTITION BY {key} ORDER BY valid_from) AS after""",
    )
    detail = {name: name for name in ("resource_type", "resource", "key", "desired_value", "value")}
    began = rows.where("NOT valid_from <=> before")
    ended = rows.where("valid_to IS NOT NULL AND NOT valid_to <=> after")
    return signals_of(began, SignalKind.CONFIG_DEVIATED, at="valid_from", detail=detail).unionByName(
        signals_of(ended, SignalKind.CONFIG_CONFORMS, at="valid_to", detail=detail)
    )


Resource = tuple[str, str]
"""The resource type of silver's `configs` ('topic', 'broker', or 'cluster'), and its name ('' for 'cluster')."""


def set_desired_configs(out: str, cluster_id: str, desired: Mapping[Resource, Mapping[str, str]]) -> int:
    """Replace the desired configs of a cluster, and return how many have changed.

    The next build of gold that has new polls compares them.

    Args:
        out: the folder or URI of the pipeline.
        cluster_id: the cluster; '' for a cluster without an id.
        desired: the desired values by resource and config. Resources that are not in it are not compared.

    Raises:
        NotAStore: `out` is a file.
        StoreInUse: other processes write all the time.
    """
    store = PipelineStore(out)
    store.create({DESIRED.folder: DESIRED.layout})
    return store.transact(lambda record: _replace(store, record, cluster_id, desired))


def _replace(
    store: PipelineStore, record: CommitRecord, cluster_id: str, desired: Mapping[Resource, Mapping[str, str]]
) -> int:
    import pyarrow as pa

    snapshot = Snapshot.of(store.location, record)
    stored = snapshot.dataset(DESIRED.folder)
    rows: list[dict[str, Any]] = [] if stored is None else stored.to_table(columns=DESIRED.names).to_pylist()
    now = datetime.now(UTC)
    new = {(*resource, key): value for resource, values in desired.items() for key, value in values.items()}
    changed = 0
    for row in rows:
        if row["cluster_id"] == cluster_id and row["valid_to"] is None:
            name = (row["resource_type"], row["resource"], row["key"])
            if new.get(name) == row["value"]:
                del new[name]
            else:
                row["valid_to"] = now
                changed += name not in new
    if not new and not changed:
        return 0
    for name, value in new.items():
        values = (cluster_id, *name, value, now, None)
        rows.append(dict(zip(DESIRED.names, values, strict=True)))
    partition = {"date": OPEN, "hour": "0"}
    file = TableFile(Output(store.location), FileKind.SILVER, DESIRED.folder, partition, DESIRED.arrow)
    file.write(pa.Table.from_pylist(rows, schema=DESIRED.arrow))
    change = StoreChange("desired", record.number)
    change.added[DESIRED.folder] = [file.close().file]
    change.removed[DESIRED.folder] = snapshot.files(DESIRED.folder)
    store.commit(change)
    return len(new) + changed
