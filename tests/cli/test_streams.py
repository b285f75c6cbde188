"""Large input passes in little memory, line by line; a reader that goes away and an interrupt end a run quietly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import IO

import pytest

from tests.cli.bodies import METADATA_V13, exchange
from tests.cli.running import COMMAND, Running, environment

LINE = json.dumps({"message": "MetadataResponse", "version": 13, "hex": METADATA_V13}).encode() + b"\n"
REQUEST = exchange(3, 12).request
SIZED = len(REQUEST).to_bytes(4, "big") + REQUEST

MEGABYTE = 1 << 20


def pour(piece: bytes, times: int, stream: IO[bytes]) -> None:
    many = piece * 100
    for _ in range(times // 100):
        stream.write(many)
    stream.close()


def peak_memory(*arguments: str, piece: bytes, times: int) -> int:
    """Bytes of memory that a run needed at most while it read ``piece`` that many times."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment()
    )
    assert process.stdin is not None
    writer = threading.Thread(target=pour, args=(piece, times, process.stdin))
    writer.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    writer.join()
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


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
def test_a_line_is_answered_before_the_next_one_comes(command: str) -> None:
    document: dict[str, object] = {"message": "ResponseHeader", "version": 0, "hex": "00"}
    if command == "encode":
        document = {"message": "ResponseHeader", "version": 0, "body": {"correlationId": 7}}
    with Running(command) as run:
        run.stdin.write(json.dumps(document).encode() + b"\n")
        run.stdin.flush()

        answer = (run.stderr if command == "validate" else run.stdout).readline()

        assert answer
        assert run.process.poll() is None


def test_a_reader_that_goes_away_ends_the_run_quietly() -> None:
    with Running("decode") as run:
        writer = threading.Thread(target=_pour_until_refused, args=(run.stdin,))
        writer.start()
        assert run.stdout.readline()
        run.stdout.close()

        assert run.process.wait(timeout=60) == 141
        assert run.stderr.read() == b""
        writer.join()


def _pour_until_refused(stream: IO[bytes]) -> None:
    try:
        while True:
            stream.write(LINE)
    except BrokenPipeError:
        return


def test_a_reader_that_is_gone_from_the_start_does_not_matter_either() -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [*COMMAND, "messages"], stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("arguments", [("messages",), ("decode", "-m", "ResponseHeader", "-v", "0", "00000007")])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_stream_that_is_closed_from_the_start_is_not_missed(arguments: tuple[str, ...], closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *COMMAND, *arguments], capture_output=True, env=environment(), check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [("--version",), ("messages",)], ids=["little", "much"])
def test_output_that_cannot_be_written_is_an_error_of_one_line(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )

    assert (done.returncode, done.stderr) == (1, b"Error: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("arguments", [("decode",), ("decode", "-m", "MetadataResponse", "-v", "13", "-f", "binary")])
def test_an_interrupt_ends_the_run_with_130(arguments: tuple[str, ...]) -> None:
    with Running(*arguments) as run:
        run.stdin.write(LINE)
        run.stdin.flush()
        if len(arguments) == 1:
            assert run.stdout.readline()
        else:
            _wait_until_it_waits(run)
        run.process.send_signal(signal.SIGINT)

        assert run.process.wait(timeout=60) == 130
        assert run.stderr.read() == b""


def _wait_until_it_waits(run: Running) -> None:
    """Until the process has read all that there is, and sleeps."""
    import time

    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        state = Path(f"/proc/{run.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "S" and "read" in Path(f"/proc/{run.process.pid}/wchan").read_text():
            return
        time.sleep(0.02)
    raise AssertionError("it never waited for input")


@pytest.mark.parametrize("suffix", ["xz", "gz"])
def test_a_damaged_archive_is_said_to_be_one(tmp_path: Path, suffix: str) -> None:
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
