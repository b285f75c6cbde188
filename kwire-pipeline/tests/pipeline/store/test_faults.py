"""Commits to an object store that answers wrongly: the store stays readable, and nothing is lost or doubled.

S3 may answer with a 500 after it has executed a request, a connection may break before the response, and a request may
arrive after its own repetition. Each request of each kind of commit suffers each fault once.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError

import kwire_pipeline.store.commits
from kwire.errors import KwireError
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store import maintenance
from kwire_pipeline.store.commits import PipelineStore, layouts
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import INGESTS, CommitRecord, DataFile, StoreChange
from kwire_pipeline.store.table_files import Output, TableFile
from kwire_pipeline.tables import Layout
from tests.cluster.repetitions import SOAK
from tests.faulty_storage import Fault, FaultyStorage, faulty_storage
from tests.object_storage import BUCKET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLLS, GOLD = "silver/polls", "gold/incidents"
DAY = datetime(2026, 11, 21, tzinfo=UTC)
PARTITION = {"date": f"{DAY:%Y-%m-%d}"}
SCHEMA = SILVER_SCHEMAS["polls"].arrow
HISTORIES = SOAK or 4
READS = {"GET", "HEAD"}
FAULTS_PER_REQUEST = 0.05


def few_layouts() -> dict[str, Layout]:
    """Return one table of silver and `ingests`: the others would only add requests of the same kinds."""
    return {name: layout for name, layout in layouts().items() if name in {POLLS, INGESTS}}


def ingest(store: PipelineStore, name: str) -> None:
    """Commit a poll of a cluster with this name as a batch of a stream, unless that is done."""

    def run(record: CommitRecord) -> None:
        if name not in record.progress.streams:
            change = StoreChange("ingest", record.number, streams={name: 0}, oldest=int(DAY.timestamp() * 1e6))
            change.added[POLLS] = [write(store, POLLS, name)]
            store.commit(change)

    store.transact(run)


def build_gold(store: PipelineStore) -> None:
    store.create({GOLD: Layout(SCHEMA.append(pa.field("date", pa.string())), ("date",))})

    def run(record: CommitRecord) -> None:
        change = StoreChange("gold", record.number, gold={"commit": record.number})
        change.added[GOLD] = [write(store, GOLD, "gold")]
        change.removed[GOLD] = store.snapshot().files(GOLD)
        store.commit(change)

    store.transact(run)


def write(store: PipelineStore, folder: str, name: str) -> DataFile:
    file = TableFile(Output(store.location), FileKind.SILVER, folder, PARTITION, SCHEMA)
    file.write(pa.Table.from_pylist([{"cluster_id": name, "polled_at": DAY}], schema=SCHEMA))
    return file.close().file


def rows(store: PipelineStore, folder: str) -> list[str]:
    dataset = store.snapshot().dataset(folder)
    return [] if dataset is None else sorted(dataset.to_table()["cluster_id"].to_pylist())


BEFORE = ["a", "b"]
COMMITS: dict[str, tuple[Callable[[PipelineStore], object], list[str], list[str]]] = {
    # The kind of a commit, and the rows of silver and gold after it.
    "create": (lambda _: None, [], []),
    "ingest": (lambda store: ingest(store, "new"), [*BEFORE, "new"], []),
    "gold": (build_gold, BEFORE, ["gold"]),
    "optimize": (maintenance.optimize, BEFORE, []),
    "vacuum": (lambda store: maintenance.vacuum(store, timedelta(0)), BEFORE, []),
    "expire": (lambda store: maintenance.expire(store, timedelta(hours=1)), [], []),
}


@pytest.fixture(scope="module")
def storage() -> Iterator[FaultyStorage]:
    with faulty_storage() as storage:
        yield storage


@pytest.fixture
def processes() -> Iterator[ProcessPoolExecutor]:
    """Return processes that wait for the object store side by side: delta-rs holds the GIL meanwhile."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(len(COMMITS), context) as pool:
        yield pool


@pytest.mark.parametrize(
    "kinds", [("ingest", "gold"), pytest.param(tuple(COMMITS), marks=pytest.mark.nightly)], ids=["few", "all"]
)
def test_each_request_of_each_commit_may_be_answered_wrongly(
    storage: FaultyStorage, processes: ProcessPoolExecutor, kinds: tuple[str, ...]
) -> None:
    counts = processes.map(fail_each_request, [storage] * len(kinds), kinds)

    for kind, count in zip(kinds, counts, strict=True):
        assert count > 1, kind


def fail_each_request(storage: FaultyStorage, kind: str) -> int:
    """Repeat a commit to copies of a store until each write had each fault, and each read one.

    Returns the number of writes.
    """
    prepare(storage)
    source = f"{kind}-{uuid4().hex}"  # other tests share the storage

    if kind != "create":
        store = PipelineStore(f"s3://{BUCKET}/{source}")
        for name in BEFORE:
            ingest(store, name)
        if kind == "vacuum":
            maintenance.optimize(store)
    writes = sum(method not in READS for method, _ in commit_with_faults(storage, kind, source, None, reads=False))
    for first in range(len(Fault)):
        assert len(commit_with_faults(storage, kind, source, first, reads=first == 0)) > writes, (kind, first)
    return writes


def commit_with_faults(
    storage: FaultyStorage, kind: str, source: str, first: int | None, *, reads: bool
) -> list[tuple[str, str]]:
    """Commit to a copy of a store, again without faults if that fails, check the store, and return the requests."""
    run, silver, gold = COMMITS[kind]
    folder = f"{source}-{first}"
    storage.copy(source, folder)
    if first is not None:
        storage.inject_everywhere(folder, first, reads=reads)
    out = f"s3://{BUCKET}/{folder}"
    try:
        run(PipelineStore(out))
    except (OSError, DeltaError, KwireError):
        storage.inject(folder, {})
        run(PipelineStore(out))
    requests = storage.inject(folder, {})
    store = PipelineStore(out, create=False)
    assert (rows(store, POLLS), rows(store, GOLD)) == (silver, gold), (folder, reads)
    return requests


def prepare(storage: FaultyStorage) -> None:
    """Let this process use the object store, and stores have few tables."""
    os.environ.update(storage.environment)
    kwire_pipeline.store.commits.layouts = few_layouts


def test_histories_on_a_faulty_store_lose_and_double_nothing(
    storage: FaultyStorage, processes: ProcessPoolExecutor
) -> None:
    assert sum(processes.map(run_history, [storage] * HISTORIES, range(HISTORIES))) > HISTORIES


def run_history(storage: FaultyStorage, seed: int) -> int:
    """Commit several times with random faults, and return the number of failed commits that were repeated.

    Each commit is repeated until it succeeds, as a stream does. A reader sees all of them up to some time, each once.
    """
    prepare(storage)
    random = Random(seed)
    folder = f"history-{seed}"
    faults = {number: random.choice(list(Fault)) for number in range(5_000) if random.random() < FAULTS_PER_REQUEST}
    storage.inject(folder, faults)
    out = f"s3://{BUCKET}/{folder}"
    expected: list[str] = []
    for number in range(3):
        kind = random.choice(["ingest", "ingest", "optimize", "gold"])
        while True:
            try:
                store = PipelineStore(out)
                if kind == "ingest":
                    ingest(store, str(number))
                else:
                    COMMITS[kind][0](store)
                break
            except (OSError, DeltaError):
                continue
        expected += [str(number)] if kind == "ingest" else []
    storage.inject(folder, {})
    assert rows(PipelineStore(out, create=False), POLLS) == expected, seed
    return len(faults)
