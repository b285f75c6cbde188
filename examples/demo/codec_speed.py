"""Part of the demo: how fast the engine decodes the captured frames, compared to `kwire.reference`.

Both decode the same bytes in turns, after a check that the results are equal. The best of several rounds counts, in CPU
time of this thread. `make bench` measures more carefully, and against other codecs.
"""

from __future__ import annotations

from dataclasses import replace
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

import kwire
from examples.demo.captured_frames import read_capture
from kwire.messages.kafka import MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from examples.demo.terminal import DemoContext
    from kwire.declare import Message

    Body = tuple[type[Message], int, bytes]

ROUNDS = 5
LARGE = 20_000
"""Partitions of the large response."""
LARGE_VERSION = 9
"""Version of the large response: it has compact lengths and all fields that the captured responses set."""


def run(context: DemoContext) -> None:
    """Run this part."""
    del context
    exchanges = list(read_capture())
    requests = [(exchange.request.message, exchange.version) for exchange in exchanges if exchange.request]
    responses = [(exchange.response.message, exchange.response.version) for exchange in exchanges if exchange.response]
    print_speed(requests + responses)


def print_speed(messages: Sequence[tuple[Message, int]]) -> None:
    """Measure and print the speed on messages and their versions."""
    bodies = [(type(message), version, kwire.encode(message, version=version)) for message, version in messages]
    engine, reference = compare(bodies)
    print(
        f"All {len(bodies):,} frames: engine {len(bodies) * 1e9 / engine:,.0f} frames/s,"
        f" reference {len(bodies) * 1e9 / reference:,.0f}"
    )
    large, partitions = large_response([message for message, _ in messages])
    engine, reference = compare([(MetadataResponse, LARGE_VERSION, large)])
    print(
        f"A cluster of {partitions:,} partitions ({len(large) / 1e6:.1f} MB): engine {engine / partitions:.0f} ns a"
        f" partition, reference {reference / partitions:,.0f}, {reference / engine:.0f} times as much"
    )
    times = best_times({"validate": lambda: kwire.validate(MetadataResponse, large, version=LARGE_VERSION)})
    print(f"Validation without creating objects: {times['validate'] / partitions:.0f} ns a partition")


def large_response(messages: Sequence[Message]) -> tuple[bytes, int]:
    """Return the body of a large Metadata response that repeats the largest captured one, and its partitions."""
    largest = max(
        (message for message in messages if isinstance(message, MetadataResponse)),
        key=lambda response: sum(len(topic.partitions) for topic in response.topics),
    )
    partitions = sum(len(topic.partitions) for topic in largest.topics)
    times = LARGE // partitions
    topics = tuple(replace(topic, name=f"{topic.name}-{copy}") for copy in range(times) for topic in largest.topics)
    body = kwire.encode(replace(largest, topics=topics), version=LARGE_VERSION)
    return body, partitions * times


def compare(bodies: Sequence[Body]) -> tuple[int, int]:
    """Return the nanoseconds that engine and reference need to decode all bodies."""
    for cls, version, data in bodies:
        assert kwire.decode(cls, data, version=version) == kwire.reference.decode(cls, data, version=version)
    times = best_times(
        {"engine": decode_all_by(kwire.decode, bodies), "reference": decode_all_by(kwire.reference.decode, bodies)}
    )
    return times["engine"], times["reference"]


def decode_all_by(decode: Callable[..., Any], bodies: Sequence[Body]) -> Callable[[], None]:
    def decode_all() -> None:
        for cls, version, data in bodies:
            decode(cls, data, version=version)

    return decode_all


def best_times(runners: Mapping[str, Callable[[], None]]) -> dict[str, int]:
    """Return the best time of each; they take turns, so that load on the machine affects all of them."""
    times: dict[str, int] = {}
    for _ in range(ROUNDS):
        for name, run in runners.items():
            start = thread_time_ns()
            run()
            taken = thread_time_ns() - start
            times[name] = min(taken, times.get(name, taken))
    return times
