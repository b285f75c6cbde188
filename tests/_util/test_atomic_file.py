"""Files are written as a whole, and no symbolic link with the name of a temporary file is followed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire._util import ready_file
from kwire._util.atomic_file import open_new, replace_file
from kwire.capture import Capture, upload
from kwire.capture.folder import PARTIAL_SUFFIX
from kwire.storage.location import Location
from kwire_admin.cli.completion.name_cache import write_atomically
from kwire_admin.compat.install import install
from kwire_admin.operations.written_files import LocalFiles
from kwire_admin.reassignment.execution.run_folder import cluster_folder
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Callable


def write_ready_file(path: Path) -> None:
    ready_file.prepare(path)
    ready_file.write_atomically(path, {"a": 1})


WRITERS: dict[str, Callable[[Path], object]] = {
    "replace_file": lambda path: replace_file(path, b"new", is_synced=True),
    "written files": lambda path: LocalFiles().write(path, "new"),
    "ready file": write_ready_file,
    "cache of names": lambda path: write_atomically(str(path), b"new"),
    "scripts": lambda path: install(path.parent / "bin"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_link_with_a_name_that_was_ever_temporary_is_not_followed(writer: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "shared"
    (folder / "bin").mkdir(parents=True)
    path = folder / "out.json"
    for name in (".out.json.new", "out.json.partial", "out.new", f"out.json.{os.getpid()}", "bin/kafka-acls.partial"):
        (folder / name).symlink_to(victim)

    WRITERS[writer](path)

    assert victim.read_text() == "precious"
    written = folder / "bin" / "kafka-acls" if writer == "scripts" else path
    assert written.is_file()
    assert not written.is_symlink()
    assert len(list(folder.glob(".*.partial"))) == 0


def test_capture_does_not_follow_links_in_its_folder(tmp_path: Path) -> None:
    with Capture(tmp_path / "first"):
        names = [file.relative_to(tmp_path / "first") for file in (tmp_path / "first").rglob("*") if file.is_file()]
    assert names
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in names:
        link = tmp_path / "second" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(victim)
        with suppress(OSError), Capture(tmp_path / "second"):
            pass
        assert victim.read_text() == "precious", name
        link.unlink()


def test_file_of_a_crash_is_replaced_and_a_failed_one_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.write_text("of a crash")
    with open_new(left, 0o600) as file:
        file.write(b"new")
    assert (left.read_text(), left.stat().st_mode & 0o777) == ("new", 0o600)
    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path, "a folder is not a file")
    assert list(tmp_path.parent.glob(".*.partial")) == []


@for_rows(
    ("cluster_id", "name"),
    [
        ("OxLJSmVyQDObLBBCZ8iTXg", "OxLJSmVyQDObLBBCZ8iTXg"),
        ("a/b", "a%2Fb"),
        ("a_b", "a_b"),
        ("..", "%2E."),
        (".", "%2E"),
        (None, "without-id"),
    ],
)
def test_each_cluster_has_a_folder_of_its_own(cluster_id: str | None, name: str) -> None:
    assert cluster_folder(Path("/state"), cluster_id) == Path("/state") / name


def test_long_ids_of_clusters_have_short_and_different_names() -> None:
    names = {cluster_folder(Path("/state"), "é" * 500 + end).name for end in ("", "a", "b")}
    assert len(names) == 3
    assert max(map(len, names)) < 255


def test_upload_to_a_folder_does_not_follow_links(tmp_path: Path) -> None:
    segment = tmp_path / "capture" / "2026" / "part-000000000000.parquet"
    segment.parent.mkdir(parents=True)
    segment.write_bytes(b"rows")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = tmp_path / "target" / "2026" / f"_{segment.name}{PARTIAL_SUFFIX}"
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    target = Location.parse(str(tmp_path / "target"))

    upload._copy(segment, target.files(), target)  # its callers need a whole capture

    assert victim.read_text() == "precious"
    assert (link.parent / segment.name).read_bytes() == b"rows"
