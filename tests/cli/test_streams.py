"""Large input, closed pipes, and interrupts."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

from tests.cli.bodies import METADATA_V13, exchange
from tests.cli.running import COMMAND, Running, environment

LINE = json.dumps({"message": "MetadataResponse", "version": 13, "hex": METADATA_V13}).encode() + b"\n"
REQUEST = exchange(3, 12).request
SIZED = len(REQUEST).to_bytes(4, "big") + REQUEST

MEGABYTE = 1 << 20

REPORTS_PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
"""Runs a command, and prints its peak memory in kilobytes: at least its parent's, which is therefore small."""


def pour(piece: bytes, times: int, stream: IO[bytes]) -> None:
    many = piece * 100
    for _ in range(times // 100):
        stream.write(many)
    stream.close()


def peak_memory(*arguments: str, piece: bytes, times: int) -> int:
    """Return the peak memory of a run in bytes while it reads `piece` again and again."""
    process = subprocess.Popen(
        [sys.executable, "-c", REPORTS_PEAK, *COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stderr is not None
    writer = threading.Thread(target=pour, args=(piece, times, process.stdin))
    writer.start()
    with process.stderr as stream:
        reported = stream.read().splitlines()
    writer.join()
    assert process.wait() == 0
    return int(reported[-1]) * 1024


@pytest.mark.parametrize(
    ("arguments", "piece"),
    [
        (("decode",), LINE),
        (("decode", "-o", "table"), LINE),
        (("validate",), LINE),
        (("decode", "--sized", "--request"), SIZED),
        (("encode", "-m", "MetadataRequest", "-v", "1"), b'{"topics": [{"name": "orders"}]}\n'),
    ],
    ids=["decode", "table", "validate", "sized", "encode"],
)
def test_memory_does_not_grow_with_the_input(arguments: tuple[str, ...], piece: bytes) -> None:
    little, much = (peak_memory(*arguments, piece=piece, times=times) for times in (1_000, 20_000))

    assert much < little + 2 * MEGABYTE


@pytest.mark.parametrize("command", ["decode", "validate", "encode"])
def test_line_is_processed_before_the_next_one_arrives(command: str) -> None:
    document: dict[str, object] = {"message": "ResponseHeader", "version": 0, "hex": "00"}
    if command == "encode":
        document = {"message": "ResponseHeader", "version": 0, "body": {"correlationId": 7}}
    with Running(command) as run:
        run.stdin.write(json.dumps(document).encode() + b"\n")
        run.stdin.flush()

        output = (run.stderr if command == "validate" else run.stdout).readline()

        assert output
        assert run.process.poll() is None


def test_closed_output_pipe_ends_the_run_quietly() -> None:
    with Running("decode") as run:
        writer = threading.Thread(target=_write_until_pipe_breaks, args=(run.stdin,))
        writer.start()
        assert run.stdout.readline()
        run.stdout.close()

        assert run.process.wait(timeout=60) == 141
        assert run.stderr.read() == b""
        writer.join()


def _write_until_pipe_breaks(stream: IO[bytes]) -> None:
    try:
        while True:
            stream.write(LINE)
    except BrokenPipeError:
        return


def test_output_pipe_may_be_closed_from_the_start() -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [*COMMAND, "messages"], stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("arguments", [("messages",), ("decode", "-m", "ResponseHeader", "-v", "0", "00000007")])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_standard_streams_may_be_closed(arguments: tuple[str, ...], closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, *arguments], capture_output=True, env=environment(), check=False
    )

    # What was to be printed is lost, so the command failed.
    lost = b"Error: cannot write the output: stdout is closed\n"
    assert (done.returncode, done.stderr) == ((1, lost) if closed == ">&-" else (0, b""))


@pytest.mark.parametrize("arguments", [("--version",), ("messages",)], ids=["little", "much"])
def test_full_disk_is_a_one_line_error(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )

    assert (done.returncode, done.stderr) == (
        1,
        f"Error: cannot write the output: {os.strerror(errno.ENOSPC)}\n".encode(),
    )


def test_interrupt_between_lines_exits_with_130() -> None:
    with Running("decode") as run:
        run.stdin.write(LINE)
        run.stdin.flush()
        assert run.stdout.readline()

        assert interrupt(run) == 130
        assert run.stderr.read() == b""


def test_interrupt_while_reading_one_message_exits_with_130() -> None:
    with Running("decode", "-m", "MetadataResponse", "-v", "13", "-f", "binary") as run:
        # More than the buffer of a pipe: once it is written, the process is reading.
        run.stdin.write(bytes(4 * MEGABYTE))
        run.stdin.flush()

        assert interrupt(run) == 130
        assert run.stderr.read() == b""


def interrupt(run: Running) -> int:
    """Interrupt a run and return its exit code.

    A signal that arrives just before a blocking system call stays pending in Python, so it is sent again if necessary.
    """
    for _ in range(40):
        run.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return run.process.wait(timeout=5)
    raise AssertionError("the process ignores interrupts")


@pytest.mark.parametrize("suffix", ["xz", "gz"])
def test_damaged_archive_is_an_error(tmp_path: Path, suffix: str) -> None:
    import gzip
    import lzma

    compress = lzma.compress if suffix == "xz" else gzip.compress
    (tmp_path / f"capture.jsonl.{suffix}").write_bytes(compress(LINE * 10_000)[:-40])

    done = subprocess.run(
        [*COMMAND, "validate", str(tmp_path / f"capture.jsonl.{suffix}")],
        capture_output=True,
        env=environment(),
        check=False,
    )

    assert done.stderr.startswith(b"Error: the archive is damaged: ")
    assert done.returncode == 1
