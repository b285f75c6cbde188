"""How fast the engine is on what was captured, against ``kwire.reference`` in the same run.

Rules of this file: both decode the same bytes, taking turns, and have been seen to give the same objects; the best of
several turns counts, in CPU time of this thread. ``make bench`` measures with more care, and against other codecs.
"""

from __future__ import annotations

from dataclasses import replace
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

import kwire
from kwire.messages.kafka import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire.cli.colors import Paint
    from kwire.declare import Message

    Body = tuple[type[Message], int, bytes]

TURNS = 5
LARGE = 20_000
"""Partitions of the cluster that is made out of the captured one."""
LARGE_VERSION = 9
"""Of its description: with compact lengths, and all that the captured ones may say."""


def report(said: Sequence[tuple[Message, int]], paint: Paint) -> None:
    """``said``: messages with the versions they were captured in."""
    print(f"\n{paint('title', 'How fast')}")
    bodies = [(type(message), version, kwire.encode(message, version=version)) for message, version in said]
    engine, reference = race(bodies)
    print(
        f"All {len(bodies):,} frames: {len(bodies) * 1e9 / engine:,.0f} frames/s by the engine,"
        f" {len(bodies) * 1e9 / reference:,.0f} by the reference"
    )
    large, partitions = large_cluster([message for message, _ in said])
    engine, reference = race([(MetadataResponse, LARGE_VERSION, large)])
    print(
        f"A cluster of {partitions:,} partitions ({len(large) / 1e6:.1f} MB): {engine / partitions:.0f} ns a partition"
        f" by the engine, {reference / partitions:,.0f} by the reference, {reference / engine:.0f} times as much"
    )
    times = best({"validate": lambda: kwire.validate(MetadataResponse, large, version=LARGE_VERSION)})
    print(f"Only checking it, which makes no objects: {times['validate'] / partitions:.0f} ns a partition")


def large_cluster(messages: Sequence[Message]) -> tuple[bytes, int]:
    """The body of a large Metadata answer, with the topics of the largest captured one again and again."""
    largest = max(
        (message for message in messages if isinstance(message, MetadataResponse)),
        key=lambda answer: sum(len(topic.partitions) for topic in answer.topics),
    )
    partitions = sum(len(topic.partitions) for topic in largest.topics)
    times = LARGE // partitions
    topics = tuple(replace(topic, name=f"{topic.name}-{turn}") for turn in range(times) for topic in largest.topics)
    body = kwire.encode(replace(largest, topics=topics), version=LARGE_VERSION)
    return body, partitions * times


def race(bodies: Sequence[Body]) -> tuple[int, int]:
    """Nanoseconds that engine and reference need for all the bodies."""
    for cls, version, data in bodies:
        assert kwire.decode(cls, data, version=version) == kwire.reference.decode(cls, data, version=version)
    times = best({"engine": all_by(kwire.decode, bodies), "reference": all_by(kwire.reference.decode, bodies)})
    return times["engine"], times["reference"]


def all_by(decode: Callable[..., Any], bodies: Sequence[Body]) -> Callable[[], None]:
    def decode_all() -> None:
        for cls, version, data in bodies:
            decode(cls, data, version=version)

    return decode_all


def best(runners: Mapping[str, Callable[[], None]]) -> dict[str, int]:
    """The best time of each; they take turns, so that a busy machine is busy for all."""
    times: dict[str, int] = {}
    for _ in range(TURNS):
        for name, run in runners.items():
            start = thread_time_ns()
            run()
            taken = thread_time_ns() - start
            times[name] = min(taken, times.get(name, taken))
    return times
