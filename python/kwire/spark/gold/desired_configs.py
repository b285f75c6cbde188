"""The desired configs of clusters, which gold compares with the reported ones (`config_deviations`)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire.spark.gold.config_deviations import DESIRED
from kwire.spark.gold.days import OPEN
from kwire.spark.store.commits import Store
from kwire.spark.store.manifest import FileKind, Output, TableFile
from kwire.spark.store.record import Change, Record
from kwire.spark.store.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

Resource = tuple[str, str]
"""The resource type of silver's `configs` ('topic', 'broker', or 'cluster'), and its name ('' for 'cluster')."""


def set_desired_configs(out: str, cluster_id: str, wanted: Mapping[Resource, Mapping[str, str]]) -> int:
    """Replace the desired configs of a cluster, and return how many have changed.

    The next build of gold that has new polls compares them.

    Args:
        out: the folder or URI of the pipeline.
        cluster_id: the cluster; '' for a cluster without an id.
        wanted: the desired values by resource and config. Resources that are not in it are not compared.

    Raises:
        NotAStore: `out` is a file.
        StoreInUse: other processes write all the time.
    """
    store = Store(out)
    store.create({DESIRED.folder: DESIRED.layout})
    return store.transact(lambda record: _replace(store, record, cluster_id, wanted))


def _replace(store: Store, record: Record, cluster_id: str, wanted: Mapping[Resource, Mapping[str, str]]) -> int:
    import pyarrow as pa

    snapshot = Snapshot(store.location, record.number, record.progress.versions)
    stored = snapshot.dataset(DESIRED.folder)
    rows: list[dict[str, Any]] = [] if stored is None else stored.to_table(columns=DESIRED.names).to_pylist()
    now = datetime.now(UTC)
    new = {(*resource, key): value for resource, values in wanted.items() for key, value in values.items()}
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
    change = Change("desired", record.number)
    change.added[DESIRED.folder] = [file.close().file]
    change.removed[DESIRED.folder] = snapshot.files(DESIRED.folder)
    store.commit(change)
    return len(new) + changed
