"""Files are written as a whole, and no symbolic link with the name of a temporary file is followed."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire._util import ready_file
from kwire._util.atomic_file import open_new, replace_file
from kwire.capture import Capture, upload
from kwire.capture.folder import PARTIAL_SUFFIX
from kwire.storage.location import Location
from tests.followed_links import check_writer

if TYPE_CHECKING:
    from collections.abc import Callable


def write_ready_file(path: Path) -> None:
    ready_file.prepare(path)
    ready_file.write_atomically(path, {"a": 1})


WRITERS: dict[str, Callable[[Path], object]] = {
    "replace_file": lambda path: replace_file(path, b"new", is_synced=True),
    "ready file": write_ready_file,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_link_with_a_name_that_was_ever_temporary_is_not_followed(writer: str, tmp_path: Path) -> None:
    check_writer(WRITERS[writer], tmp_path)


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


def test_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, "orders,0,5\n")
        assert os.read(reader, 100) == b"orders,0,5\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_socket_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        with pytest.raises(OSError, match="No such device or address"):
            replace_file(path, "x")
        assert stat.S_ISSOCK(path.lstat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_name_of_an_open_file_is_written_to(name: str, tmp_path: Path) -> None:
    script = f"from kwire._util.atomic_file import replace_file; replace_file({name!r}, 'offsets')"
    piped = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"offsets"
    target = tmp_path / "out"
    with target.open("wb") as stdout:
        stdout.write(b"before ")
        stdout.flush()
        subprocess.run([sys.executable, "-c", script], stdout=stdout, check=True)
    assert target.read_bytes() == b"before offsets"


def test_device_stays(tmp_path: Path) -> None:
    device = tmp_path / "device"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # as /dev/null, which the test must not endanger
        descriptor = os.open(device, os.O_WRONLY)
    except PermissionError:  # only root may create devices, and only root could replace one
        return
    os.close(descriptor)
    replace_file(device, "x")
    assert stat.S_ISCHR(device.lstat().st_mode)
