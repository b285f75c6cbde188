"""Measure the codec of the wheel without the engine against the engine.

    python -m benches.reference_codec [--rounds NUMBER]

Prints the median time of the reference codec as a multiple of the engine's, in turns in one process.
"""

from __future__ import annotations

import argparse
from random import Random
from typing import TYPE_CHECKING

import kwire
from benches.interleave import Contestant, take_turns
from benches.workloads import Workload
from kwire import reference

if TYPE_CHECKING:
    from kwire.declare import Message

WORKLOADS = (
    Workload("a", 1),
    Workload("a", 9),
    Workload("a", 12),
    Workload("b", 1),
    Workload("b", 12),
    Workload("b", 12, replicas="random"),
    Workload("v", 3),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.reference_codec")
    parser.add_argument("--rounds", type=int, default=11)
    rounds: int = parser.parse_args().rounds
    for workload in WORKLOADS:
        ratios = measure(workload, rounds)
        print(f"{workload!s:22}  decode {ratios[0]:4.0f} x  encode {ratios[1]:4.0f} x", flush=True)


def measure(workload: Workload, rounds: int) -> tuple[float, float]:
    """Return the reference codec's time of decoding and of encoding, as multiples of the engine's."""
    cls = kwire.messages.find("kafka", name=workload.message)
    version, body = workload.version, workload.body()
    message = kwire.decode(cls, body, version=version)
    assert reference.decode(cls, body, version=version) == message
    assert reference.encode(message, version=version) == body

    def decode(data: bytes) -> Message:
        return kwire.decode(cls, data, version=version)

    def encode(message: Message) -> bytes:
        return kwire.encode(message, version=version)

    def decode_plainly(data: bytes) -> Message:
        return reference.decode(cls, data, version=version)

    def encode_plainly(message: Message) -> bytes:
        return reference.encode(message, version=version)

    contestants = [
        Contestant("engine", "decode", decode, body),
        Contestant("reference", "decode", decode_plainly, body),
        Contestant("engine", "encode", encode, message),
        Contestant("reference", "encode", encode_plainly, message),
    ]
    times = [samples.median_ns for samples in take_turns(contestants, 1, rounds, Random(0))]
    return times[1] / times[0], times[3] / times[2]


if __name__ == "__main__":
    main()
