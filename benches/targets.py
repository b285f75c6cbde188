"""Performance targets: for each figure, a minimum and a goal.

A figure is a ratio of medians, derived from a record alone. A figure of several workloads is the worst workload's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from benches.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Callable

    from benches.interleave import Operation
    from benches.record import Record, Timing
    from benches.workloads import Workload


@dataclass(frozen=True, slots=True)
class Target:
    """A figure of a record.

    Attributes:
        ratios: returns the ratios of the workloads; the figure is the worst. Empty if nothing was measured.
    """

    what: str
    at_least: float
    goal: float
    ratios: Callable[[Record], dict[str, float]]
    unit: str = "x"
    lower_is_better: bool = False

    def figure(self, record: Record) -> Figure | None:
        """Return the figure of a record; None if it was not measured."""
        parts = self.ratios(record)
        if not parts:
            return None
        worst = max if self.lower_is_better else min
        detail = ", ".join(f"{workload} {value:.3g}" for workload, value in parts.items()) if len(parts) > 1 else ""
        value = worst(parts.values())
        return Figure(self.what, value, self.unit, self.at_least, self.goal, not self.lower_is_better, detail)


Ratios: TypeAlias = "Callable[[Record], dict[str, float]]"


def speed(
    chosen: Callable[[Workload], bool],
    operation: Operation,
    other: str,
    *,
    ours: str = "kwire",
    other_operation: Operation | None = None,
    freeing: bool = False,
) -> Ratios:
    """Return a function for the ratios of the time of another peer or operation to kwire's over workloads."""

    def cost(timing: Timing, peer: str, operation: Operation) -> float | None:
        samples = timing.find(peer, operation)
        if samples is None:
            return None
        return samples.median_ns + (samples.median_free_ns if freeing else 0)

    def ratios(record: Record) -> dict[str, float]:
        parts = {}
        for timing in record.timings:
            if chosen(timing.workload):
                mine, theirs = cost(timing, ours, operation), cost(timing, other, other_operation or operation)
                if mine is not None and theirs is not None:
                    parts[str(timing.workload)] = theirs / mine
        return parts

    return ratios


def share_of_held(chosen: Callable[[Workload], bool], other: str) -> Ratios:
    """Return a function for the memory of a decoded message relative to another peer's."""

    def ratios(record: Record) -> dict[str, float]:
        parts = {}
        for held in record.held:
            mine, theirs = held.find("kwire"), held.find(other)
            if chosen(held.workload) and mine is not None and theirs is not None:
                parts[str(held.workload)] = mine.held_bytes / theirs.held_bytes
        return parts

    return ratios


def import_time(record: Record) -> dict[str, float]:
    """Return the time of `import kwire` in milliseconds."""
    return {found.statement: found.median_ns / 1e6 for found in record.imports if found.peer == "kwire"}


def workloads(**facts: object) -> Callable[[Workload], bool]:
    """Return a function that chooses workloads by their attributes."""
    return lambda workload: all(getattr(workload, name) == value for name, value in facts.items())


a, b, v = workloads(name="a"), workloads(name="b"), workloads(name="v")
b_kafka_like, b_random = workloads(name="b", replicas="kafka-like"), workloads(name="b", replicas="random")
b_random_v1 = workloads(name="b", replicas="random", version=1)
kb_without_lag = workloads(name="kb", lags="zero")

TARGETS = (
    Target("decode (a), x msgspec", 3.8, 5, speed(a, "decode", "msgspec")),
    Target("decode (a), x kio", 7, 9, speed(a, "decode", "kio")),
    Target("decode (a), x kafka-python", 38, 50, speed(a, "decode", "kafka-python")),
    Target("decode (b) Kafka-like, x msgspec", 6, 8, speed(b_kafka_like, "decode", "msgspec")),
    Target("decode (b) Kafka-like, x kio", 15, 22, speed(b_kafka_like, "decode", "kio")),
    Target("decode (b) Kafka-like, x kafka-python", 40, 60, speed(b_kafka_like, "decode", "kafka-python")),
    Target("decode (b) random v1, x msgspec", 3.3, 5, speed(b_random_v1, "decode", "msgspec")),
    Target("decode (b) random, x kio", 12, 15, speed(b_random, "decode", "kio")),
    Target("decode (b) random, x kafka-python", 36, 45, speed(b_random, "decode", "kafka-python")),
    Target("decode + free (b) Kafka-like, x msgspec", 4.5, 6, speed(b_kafka_like, "decode", "msgspec", freeing=True)),
    Target("encode (a), x msgspec", 2.7, 3.5, speed(a, "encode", "msgspec")),
    Target("encode (a), x kio", 150, 200, speed(a, "encode", "kio")),
    Target("encode (a), x kafka-python", 70, 90, speed(a, "encode", "kafka-python")),
    Target("encode (b), x msgspec", 2.5, 3.5, speed(b, "encode", "msgspec")),
    Target("decode (v), x msgspec", 2.4, 3, speed(v, "decode", "msgspec")),
    Target("encode (v), x msgspec", 1.4, 2, speed(v, "encode", "msgspec")),
    Target("decode (kb) lag 0, x msgspec", 6, 8, speed(kb_without_lag, "decode", "msgspec")),
    Target(
        "decode with a tag in every struct, x without",
        2,
        1.2,
        speed(workloads(), "decode", "kwire, tags"),
        lower_is_better=True,
    ),
    Target("validate (b), x msgspec's decode", 40, 80, speed(b, "validate", "msgspec", other_operation="decode")),
    Target(
        "view (b), one partition of ten topics by name, share of decode",
        1 / 8,
        1 / 12,
        speed(b, "decode", "kwire", other_operation="view"),
        unit="",
        lower_is_better=True,
    ),
    Target(
        "view (b), one partition of ten topics by name, share of msgspec's decode",
        1 / 25,
        1 / 40,
        speed(b, "decode", "kwire", ours="msgspec", other_operation="view"),
        unit="",
        lower_is_better=True,
    ),
    Target(
        "bytes held (b) Kafka-like v1, share of msgspec's",
        0.30,
        0.23,
        share_of_held(b_kafka_like, "msgspec"),
        unit="",
        lower_is_better=True,
    ),
    Target("import with one message, over bare Python", 20, 8, import_time, unit=" ms", lower_is_better=True),
    Target("reference decode (a), x kafka-python", 0.3, 1, speed(a, "decode", "kafka-python", ours="reference")),
    Target("reference encode (a), x kafka-python", 0.3, 1, speed(a, "encode", "kafka-python", ours="reference")),
)
