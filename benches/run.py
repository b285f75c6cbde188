"""Measure kwire against other codecs in one run.

    python -m benches.run [--quick] [--only WORKLOAD] [--record FILE]

Prints what everything took, then our targets with what was reached, and writes a record with every sample. A codec
whose answer differs from the generator's content is not timed: the run stops.
"""

from __future__ import annotations

import argparse
import gc
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from rich.console import Console

from benches import imports, memory, tables, workloads
from benches.interleave import Contestant, take_turns
from benches.peers.peer import PEERS, Codec, Peer, Unable, load
from benches.record import RECORDS, Held, Machine, Record, Timing, commit
from benches.workloads import Workload

ROUNDS = 11
QUICK_ROUNDS = 3

SUITE = (
    Workload("a", 1),
    Workload("a", 9),
    Workload("a", 12),
    Workload("b", 1),
    Workload("b", 12),
    Workload("b", 1, replicas="random"),
    Workload("b", 12, replicas="random"),
    Workload("ka", 1),
    Workload("kb", 1),
    Workload("kb", 1, lags="mixed"),
    Workload("v", 3),
)
QUICK_SUITE = (Workload("a", 12), Workload("b", 12), Workload("kb", 1), Workload("v", 3))
HELD = Workload("b", 1)
"""The workload of which is told what it costs to hold."""

SMALL = 10_000
"""Bytes up to which a message takes too little time for the clock,"""
TOGETHER = 16
"""so that this many are decoded at a time."""

SLOW = ("aiokafka", "reference")
LARGE = 10_000
"""Partitions from which on the slow peers would need most of the run's time, and tell no more than on (a)."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.run", description="Measure kwire against other codecs.")
    parser.add_argument("--quick", action="store_true", help="few workloads and rounds: a look, not a measurement")
    parser.add_argument("--only", metavar="WORKLOAD", help='only workloads that begin so: "a", "b v12", "kb"')
    parser.add_argument("--rounds", type=int, help=f"how often everything is timed ({ROUNDS}; quick {QUICK_ROUNDS})")
    parser.add_argument("--record", type=Path, metavar="FILE", help="where to write (benches/records/DATE.json)")
    given = parser.parse_args()
    suite = [each for each in (QUICK_SUITE if given.quick else SUITE) if chosen(each, given.only)]
    if not suite:
        parser.error(f"no workload begins with {given.only!r}: {', '.join(map(str, SUITE))}")

    console = Console()
    now = datetime.now(UTC)
    peers = installed(console)
    record = Record(
        made=now.isoformat(timespec="seconds"),
        commit=commit(),
        quick=given.quick,
        rounds=given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS),
        machine=Machine.here(),
        versions={peer.name: peer.version for peer in peers.values()},
    )
    console.print(tables.heading(record))
    random = Random(0)
    for workload in suite:
        timing = time(workload, peers, record.rounds, random)
        record.timings.append(timing)
        console.print(tables.timing(timing))
    if HELD in suite or given.quick:
        record.held.append(hold(HELD, peers))
        console.print(tables.held(record.held[-1]))
    if not given.only:
        statements = {peer.name: peer.imports for peer in peers.values()}
        record.imports.extend(imports.take_turns(statements, record.rounds, random))
        console.print(tables.imports(record.imports))
    console.print(tables.targets(record))

    file = given.record or RECORDS / f"{now:%Y-%m-%d}{'-quick' if given.quick else ''}.json"
    record.save(file)
    console.print(f"Every sample is in {file}")


def chosen(workload: Workload, only: str | None) -> bool:
    """Whole words: "k" chooses neither "ka" nor "kb"."""
    return only is None or f"{workload} ".startswith(f"{only} ")


def installed(console: Console) -> dict[str, Peer]:
    """The peers that are here; those that are not are named."""
    peers = {}
    for module in PEERS:
        try:
            peers[module] = load(module)
        except ImportError as error:
            console.print(f"[yellow]{module} does not take part: {error}[/]")
    return peers


def time(workload: Workload, peers: dict[str, Peer], rounds: int, random: Random) -> Timing:
    """Check every peer's answer, then let them take turns."""
    codecs: dict[str, tuple[Codec, bytes]] = {}
    unable: dict[str, str] = {}
    for module, peer in peers.items():
        if module in SLOW and workload.partitions >= LARGE:
            unable[peer.name] = "too slow for this many partitions"
            continue
        try:
            codec = peer.codec(workload.message, workload.version)
        except Unable as reason:
            unable[peer.name] = str(reason)
            continue
        payload = peer.payload(workload)
        check(peer, codec, payload, workload)
        codecs[peer.name] = (codec, payload)
    size = len(workload.body())
    forget_content()

    together = 1 if size > SMALL else TOGETHER
    decoding = [Contestant(name, "decode", codec.decode, payload) for name, (codec, payload) in codecs.items()]
    decoding += [
        Contestant(name, "validate", codec.validate, payload)
        for name, (codec, payload) in codecs.items()
        if codec.validate is not None
    ]
    samples = take_turns(decoding, together, rounds, random)
    encoding = [
        Contestant(name, "encode", codec.encode, codec.decode(payload)) for name, (codec, payload) in codecs.items()
    ]
    samples += take_turns(encoding, together, rounds, random)
    return Timing(workload, size, samples, unable)


def check(peer: Peer, codec: Codec, payload: bytes, workload: Workload) -> None:
    """Who is wrong may be as fast as he likes."""
    decoded = codec.decode(payload)
    if codec.content(decoded) != workload.content():
        sys.exit(f"{peer.name} reads something else than what {workload} says")
    if codec.encode(decoded) != payload:
        sys.exit(f"{peer.name} writes something else than it read from {workload}")


def forget_content() -> None:
    """Leave the collector with nothing of the generator's."""
    workloads.content.cache_clear()
    gc.collect()


def hold(workload: Workload, peers: dict[str, Peer]) -> Held:
    measured = []
    for module, peer in peers.items():
        try:
            peer.codec(workload.message, workload.version)
        except Unable:
            continue
        if module not in SLOW:
            measured.append(memory.measure(module, workload, peer.payload(workload)))
    forget_content()
    return Held(workload, measured)


if __name__ == "__main__":
    main()
