"""The options of the job, and what can be wrong with them.

Rules of this file: what a look at the options and at this machine can tell is told before Spark starts, in one line,
with exit code 2. What lies elsewhere is Spark's to judge.
"""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Sequence


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the job is to do. Exits with 2 when it makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m kwire.spark.pipeline", description="Polled Kafka metadata: bronze, silver and gold."
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--tape", action="append", metavar="FILE", help="parquet with frames that somebody recorded")
    source.add_argument("--capture", action="append", metavar="DIR", help="a folder that kwire captures into")
    source.add_argument("--bootstrap", metavar="HOST:PORT,...", help="a cluster: captured first, into OUT/capture")
    parser.add_argument("--out", required=True, help="folder or URI of the tables")
    parser.add_argument("--stream", action="store_true", help="go on until interrupted")
    parser.add_argument("--every", type=_seconds, default=10.0, metavar="SECONDS", help="between batches (10)")
    parser.add_argument("--interval", type=_seconds, default=1.0, metavar="SECONDS", help="between polls (1)")
    parser.add_argument("--seconds", type=_seconds, metavar="SECONDS", help="end a stream, or a capture, after so long")
    parser.add_argument("--gold", action="store_true", help="bring gold up to date too")
    given = parser.parse_args(arguments)
    if given.tape and given.stream:
        parser.error("--stream needs --capture or --bootstrap: a tape does not grow")
    try:
        _look(given)
    except (KwireError, OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    return given


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _look(given: argparse.Namespace) -> None:
    """Raises what is wrong with files, folders and addresses."""
    from kwire.capture.folder import segments
    from kwire.protocol import Endpoint
    from kwire.spark.datasource import local_path
    from kwire.spark.store import Store

    for path in given.tape or ():
        _look_at_tape(local_path(path))
    for folder in given.capture or ():
        segments(local_path(folder))
    if given.bootstrap:
        Endpoint.parse_all(given.bootstrap)
        if "://" in local_path(given.out):
            raise ValueError(
                f"--bootstrap captures into OUT/capture, a folder of this machine, and {given.out} is none: "
                "capture by `kwire capture`, and give --capture"
            )
    Store(given.out)  # last: it makes the folder


def _look_at_tape(path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Patterns and other file systems are Spark's, which under spark-submit may be meant by a bare path too.
    if "://" in path or any(sign in path for sign in "*?[{") or "SPARK_ENV_LOADED" in os.environ:
        return
    if not Path(path).exists():
        raise ValueError(f"{path}: there is no such file")
    if Path(path).is_file():
        try:
            pq.read_schema(path)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path} is not parquet: {error}".splitlines()[0]) from error
