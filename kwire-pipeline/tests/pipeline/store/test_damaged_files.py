"""Commands on a store with damaged files and failing libraries: errors name the folder, and none is a traceback."""

from __future__ import annotations

import errno
import os
import shutil
from random import Random
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError
from pyspark.errors import PySparkException

from kwire.cli.entry import run_with_streams
from kwire.cli.program import run
from kwire_pipeline.cli.library_errors import LibraryFailed, library_errors
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import NotAStore
from tests.pipeline.store.test_faults import POLLS, ingest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMANDS: dict[str, list[str]] = {
    "optimize": [],
    "vacuum": [],
    "expire": ["--keep", "90d"],
    "check": [],
    "repair": [],
    "status": [],
    "sql": ["SELECT max(polled_at) FROM polls"],
    "gold": [],
}


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 0x55
    file.write_bytes(content)


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "flipped": _flip,
    "random": lambda file: file.write_bytes(Random("damage").randbytes(300)),
    "not UTF-8": lambda file: file.write_bytes(b'{"number": "\xff"}'),
    "other JSON": lambda file: file.write_bytes(b"[]\n"),
    "object": lambda file: file.write_bytes(b"{}\n"),
    "folder": _folder,
    "link": _link,
    "gone": lambda file: file.unlink(),
}


def test_command_on_a_damaged_record_names_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    for name in ("a", "b"):
        ingest(PipelineStore(str(whole)), name)
    older, newest = sorted(path.relative_to(whole) for path in (whole / "_commits").iterdir())
    random = Random("damaged records")
    for number, (name, damage) in enumerate(DAMAGES.items()):
        command = "vacuum" if number % 2 else random.choice(sorted(COMMANDS))
        shutil.copytree(whole, out)
        damage(out / (older if number % 2 else newest))
        code = run_with_streams(run, ["pipeline", command, "--out", str(out), *COMMANDS[command]])
        output = capsys.readouterr()
        assert code in {0, 1, 6}, (name, command)
        assert code != 1 or str(out) in output.err, (name, command, output.err)
        shutil.rmtree(out)


def test_query_of_a_damaged_file_names_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ingest(PipelineStore(str(tmp_path)), "a")
    [file] = (tmp_path / POLLS).rglob("*.parquet")
    file.write_bytes(b"")

    assert run_with_streams(run, ["pipeline", "sql", "--out", str(tmp_path), *COMMANDS["sql"]]) == 1

    error = capsys.readouterr().err
    assert str(tmp_path) in error
    assert file.name in error
    assert "kwire pipeline check" in error


@pytest.mark.parametrize(
    "error",
    [
        DeltaError("Generic error"),
        pa.ArrowInvalid("not a Parquet file"),
        duckdb.IOException("cannot read"),
        OSError("Generic LocalFileSystem error: Unable to rename file: Input/output error (os error 5)"),
        OSError(errno.EIO, "Error writing bytes to file. Detail: [errno 5] Input/output error"),
        FileNotFoundError(errno.ENOENT, "Failed to open local file 'x'. Detail: [errno 2] No such file or directory"),
    ],
    ids=repr,
)
def test_error_of_a_library_names_folder_and_remedy(error: Exception) -> None:
    with pytest.raises(LibraryFailed) as caught, library_errors("/data/kafka", "check the disk"):
        raise error
    text = str(error).partition("\n")[0]
    assert str(caught.value) == f"/data/kafka: {text}: check the disk"


def test_error_of_spark_has_its_first_line() -> None:
    text = "\n[JOB_ABORTED] a task failed\n\tat org.apache.spark.Task\n"
    with pytest.raises(LibraryFailed) as caught, library_errors("/data", "check the disk"):
        raise PySparkException(text)
    assert str(caught.value) == "/data: Spark failed: [JOB_ABORTED] a task failed: see its log for the cause"


@pytest.mark.parametrize(
    "error",
    [
        NotAStore("/data"),
        BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EIO, os.strerror(errno.EIO), "/data/ledger.json"),
        ValueError("a fault of the program"),
    ],
    ids=repr,
)
def test_other_errors_are_kept(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, library_errors("/data", "check the disk"):
        raise error
    assert caught.value is error
