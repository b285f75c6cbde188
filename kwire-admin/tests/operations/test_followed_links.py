"""Files of the command are written as a whole, and no link with the name of a temporary file is followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.cli.completion.name_cache import write_atomically
from kwire_admin.compat.install import install
from kwire_admin.operations.run import WrittenFiles
from tests.followed_links import check_writer

if TYPE_CHECKING:
    from pathlib import Path


def test_written_files_do_not_follow_links(tmp_path: Path) -> None:
    check_writer(lambda path: WrittenFiles().write(path, "new"), tmp_path)


def test_cache_of_names_does_not_follow_links(tmp_path: Path) -> None:
    check_writer(lambda path: write_atomically(str(path), b"new"), tmp_path)


def test_installed_scripts_do_not_follow_links(tmp_path: Path) -> None:
    check_writer(lambda path: install(path.parent / "bin"), tmp_path, "bin/kafka-acls")
