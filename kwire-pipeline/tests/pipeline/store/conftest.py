"""A store with four commits, and copies of it for tests that damage it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire_pipeline.store.commits import PipelineStore, layouts
from kwire_pipeline.store.record import INGESTS
from tests.pipeline.store.other_writers import NAMES
from tests.pipeline.store.test_commits import TABLES, commit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EMPTY_TABLES = ("silver/brokers", "silver/topics")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with four commits. It has few tables: each operation of the store opens all of them."""
    folder = tmp_path_factory.mktemp("template") / "store"
    with pytest.MonkeyPatch.context() as patches:
        few = {name: layout for name, layout in layouts().items() if name in {*TABLES, *EMPTY_TABLES, INGESTS}}
        patches.setattr("kwire_pipeline.store.commits.layouts", lambda: few)
        store = PipelineStore(str(folder))
        for name in NAMES:
            commit(store, name)
    return folder


@pytest.fixture
def copies(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Path]]:
    """Return a function that copies the store."""
    few = {name: layout for name, layout in layouts().items() if name in {*TABLES, *EMPTY_TABLES, INGESTS}}
    monkeypatch.setattr("kwire_pipeline.store.commits.layouts", lambda: few)
    numbers = iter(range(1000))

    def copy() -> Path:
        folder: Path = tmp_path / str(next(numbers))
        shutil.copytree(template, folder)
        return folder

    yield copy
    shutil.rmtree(tmp_path, ignore_errors=True)
