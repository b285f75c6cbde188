"""Measure kwire against other codecs in one run.

    python -m benches.run [--quick] [--only WORKLOAD] [--peer NAME] [--record FILE]

Prints the times and the targets, and writes a record with every sample. The run stops if a codec decodes something
other than the generated content.
"""

from __future__ import annotations

import argparse
import gc
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from rich.console import Console

from benches import imports, memory, tables, workloads
from benches.content import Metadata
from benches.interleave import Contestant, take_turns
from benches.peers.peer import PEERS, Codec, Peer, Unable, load
from benches.record import RECORDS, Held, Machine, Record, Timing, commit
from benches.workloads import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

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
"""The workload for which memory is measured."""

SMALL = 10_000
"""Messages up to this size in bytes are decoded in groups, because a single call is too short for the clock."""
GROUP_SIZE = 16
"""Calls in such a group."""

READ_TOPICS = 10
"""The number of topics that a view reads."""

SLOW = ("reference",)
LARGE = 10_000
"""Partitions from which on slow peers are skipped: they would take most of the run without new information."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.run", description="Measure kwire against other codecs.")
    parser.add_argument(
        "--quick", action="store_true", help="measure few workloads in few rounds, for a first impression"
    )
    parser.add_argument("--only", metavar="WORKLOAD", help='measure workloads that start with this: "a", "b v12", "kb"')
    parser.add_argument(
        "--peer",
        action="append",
        choices=[peer for peer in PEERS if peer != "kwire"],
        help="measure kwire and this peer; repeatable [default: all peers]",
    )
    parser.add_argument("--rounds", type=int, help=f"number of rounds [default: {ROUNDS}, quick {QUICK_ROUNDS}]")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="write the record here [default: benches/records/DATE.json]"
    )
    given = parser.parse_args()
    suite = [workload for workload in (QUICK_SUITE if given.quick else SUITE) if chosen(workload, given.only)]
    if not suite:
        parser.error(f"no workload starts with {given.only!r}: {', '.join(map(str, SUITE))}")

    console = Console()
    now = datetime.now(UTC)
    peers = installed(console, ["kwire", *given.peer] if given.peer else PEERS)
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
    console.print(f"wrote {file}")


def chosen(workload: Workload, only: str | None) -> bool:
    """Return whether a workload starts with the words of `only`; "k" matches neither "ka" nor "kb"."""
    return only is None or f"{workload} ".startswith(f"{only} ")


def installed(console: Console, modules: Sequence[str]) -> dict[str, Peer]:
    """Return the installed peers among the given modules, and print the missing ones."""
    peers = {}
    for module in modules:
        try:
            peers[module] = load(module)
        except ImportError as error:
            console.print(f"[yellow]{module} is not measured: {error}[/]")
    return peers


def time(workload: Workload, peers: dict[str, Peer], rounds: int, random: Random) -> Timing:
    """Check the results of every peer, then time all peers in turns."""
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
    names = read_topics(workload)
    forget_content()

    group = 1 if size > SMALL else GROUP_SIZE
    decoding = [Contestant(name, "decode", codec.decode, payload) for name, (codec, payload) in codecs.items()]
    decoding += [
        Contestant(name, "validate", codec.validate, payload)
        for name, (codec, payload) in codecs.items()
        if codec.validate is not None
    ]
    decoding += [
        Contestant(name, "view", partial(codec.view, names), payload)
        for name, (codec, payload) in codecs.items()
        if codec.view is not None
    ]
    samples = take_turns(decoding, group, rounds, random)
    encoding = [
        Contestant(name, "encode", codec.encode, codec.decode(payload)) for name, (codec, payload) in codecs.items()
    ]
    samples += take_turns(encoding, group, rounds, random)
    return Timing(workload, size, samples, unable)


def read_topics(workload: Workload) -> list[str]:
    """Return the names of ten topics that a view reads, spread over the message."""
    content = workload.content()
    if not isinstance(content, Metadata):
        return []
    return [topic.name for topic in content.topics[:: len(content.topics) // READ_TOPICS]][:READ_TOPICS]


def check(peer: Peer, codec: Codec, payload: bytes, workload: Workload) -> None:
    """Stop the run if a peer decodes or encodes something else than the generated content."""
    decoded = codec.decode(payload)
    if codec.content(decoded) != workload.content():
        sys.exit(f"{peer.name} decodes {workload} to different content")
    if codec.encode(decoded) != payload:
        sys.exit(f"{peer.name} encodes {workload} to different bytes")


def forget_content() -> None:
    """Free the generated content, which the garbage collector would otherwise traverse."""
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
