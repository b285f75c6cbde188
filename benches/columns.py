"""Frames to Arrow columns, compared with msgspec decoding the same content to objects.

    python -m benches.columns [--quick]

Measurements follow `benches.interleave`: CPU time of this thread, alternating contestants, medians. msgspec decodes its
own format to objects and does not fill columns; it represents the fastest first step of Python programs that do.
"""

from __future__ import annotations

import gc
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benches import workloads
from benches.figure import Figure
from benches.interleave import Contestant, take_turns
from benches.peers.peer import load
from benches.program import print_figures
from benches.workloads import Size, Workload
from kwire import columns
from kwire.messages.kafka.metadata import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 11
QUICK_ROUNDS = 3
SMALL_FRAME = Size(brokers=10, topics=200, partitions_each=10)
SMALL_FRAMES = 2_000
QUICK_SMALL_FRAMES = 200
DISTINCT = 8
"""Number of different small frames; all have the same topic names."""


def run(quick: bool) -> list[Figure]:
    """Return the figures of the oldest and the newest version."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    frames = QUICK_SMALL_FRAMES if quick else SMALL_FRAMES
    return [
        figure
        for version in (1, 12)
        for figure in (*against_msgspec(version, rounds), many_small_frames(version, frames, rounds))
    ]


def against_msgspec(version: int, rounds: int) -> list[Figure]:
    workload = Workload("b", version)
    peer = load("msgspec")
    objects, payload = peer.codec(workload.message, version).decode, peer.payload(workload)
    body = workload.body()
    check(body, version, workload)
    forget()
    contestants = [
        Contestant("msgspec", "decode", objects, payload),
        Contestant("columns", "decode", partial(to_columns, version), [body]),
    ]
    taken = {samples.peer: samples for samples in take_turns(contestants, 1, rounds, Random(0))}
    msgspec, own = (taken[name].median_ns / workload.partitions for name in ("msgspec", "columns"))
    msgspec_freed, own_freed = (taken[name].median_free_ns / workload.partitions for name in ("msgspec", "columns"))
    detail = (
        f"ns per partition, and to free it: columns {own:.1f} + {own_freed:.1f}, "
        f"msgspec {msgspec:.1f} + {msgspec_freed:.1f}"
    )
    return [Figure(f"columns, {workload}, x msgspec's decode to objects", msgspec / own, "x", 12, 20, True, detail)]


def many_small_frames(version: int, frames: int, rounds: int) -> Figure:
    small, large = small_bodies(version, frames), Workload("b", version).body()
    forget()
    contestants = [
        Contestant("many", "decode", partial(to_columns, version), small),
        Contestant("one", "decode", partial(to_columns, version), [large]),
    ]
    taken = {samples.peer: samples for samples in take_turns(contestants, 1, rounds, Random(0))}
    many = taken["many"].median_ns / (frames * SMALL_FRAME.partitions)
    one = taken["one"].median_ns / workloads.LARGE.partitions
    name = f"columns, {frames:,} frames of 200x10 v{version}, ns a partition against one of 5,000x20"
    return Figure(name, many / one, "x", 1.2, 1.05, False, f"{many:.1f} against {one:.1f}")


def to_columns(version: int, frames: Sequence[bytes]) -> Any:
    return columns(MetadataResponse, frames, version=version)


def small_bodies(version: int, frames: int) -> list[bytes]:
    """Return many frames, each with its own memory."""
    size = workloads.SIZES["a"]
    workloads.SIZES["a"] = SMALL_FRAME
    try:
        bodies = [Workload("a", version, first_broker=1 + broker).body() for broker in range(DISTINCT)]
    finally:
        workloads.SIZES["a"] = size
    return [bytes(bytearray(bodies[frame % DISTINCT])) for frame in range(frames)]


def check(body: bytes, version: int, workload: Workload) -> None:
    """Check the content of the columns: the speed of a wrong result means nothing."""
    batch = pa.record_batch(to_columns(version, [body]))
    content: Any = workload.content()
    expected = [
        (topic.name, partition.partition_index, partition.leader_id, list(partition.replica_nodes))
        for topic in content.topics
        for partition in topic.partitions
    ]
    names = ("name", "partition_index", "leader_id", "replica_nodes")
    found = list(zip(*(batch[name].to_pylist() for name in names), strict=True))
    if found != expected:
        raise SystemExit(f"the columns of {workload} are wrong")


def forget() -> None:
    workloads.content.cache_clear()
    gc.collect()


if __name__ == "__main__":
    print_figures(run, "columns", "Measure kwire.columns.", "run few rounds, for a rough result")
