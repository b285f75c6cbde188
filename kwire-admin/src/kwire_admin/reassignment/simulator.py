"""The course of a plan: its duration, and the load of brokers meanwhile.

The model is a fluid one: a move copies from the leader to each added replica, and a broker divides its bandwidth, or
its throttle, evenly among the moves that it sends, and among the moves that it receives. A batch starts when its
predecessor is complete. Real brokers redistribute bandwidth that a move does not use, so they are a little faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_admin.reassignment.plan import Move

__all__ = ["BrokerCourse", "Course", "simulate"]


@dataclass(frozen=True, slots=True)
class BrokerCourse:
    """The load of a broker during a plan.

    Attributes:
        broker: its id.
        sent: bytes that it sends.
        received: bytes that it receives.
        peak_out: the largest rate at which it sends, in bytes a second.
        peak_in: the largest rate at which it receives.
        peak_extra: the most bytes that it stores in addition to what it had, while old replicas still exist.
    """

    broker: int
    sent: int
    received: int
    peak_out: float
    peak_in: float
    peak_extra: int


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a plan.

    Attributes:
        seconds: duration of the plan.
        batch_seconds: duration of each batch in seconds.
        brokers: loads in ascending order of broker id; brokers without moves are left out.
    """

    seconds: float
    batch_seconds: tuple[float, ...]
    brokers: tuple[BrokerCourse, ...]


def simulate(batches: Sequence[Sequence[Move]], rate: float, bandwidth: Mapping[int, float] | None = None) -> Course:
    """Return the course of batches.

    Args:
        batches: the moves.
        rate: bytes a second that each broker may send, and receive: its throttle or its bandwidth.
        bandwidth: lower limits of single brokers.

    Raises:
        ValueError: a rate is not above 0.
    """
    ids = sorted({broker for batch in batches for move in batch for broker in (*move.before, *move.after)})
    position = {broker: index for index, broker in enumerate(ids)}
    limits = np.array([min(rate, (bandwidth or {}).get(broker, rate)) for broker in ids])
    if (limits <= 0).any() or rate <= 0:
        raise ValueError("a rate must be above 0")
    totals = _Totals(len(ids))
    seconds = []
    for batch in batches:
        totals.store(batch, position)
        seconds.append(_batch_seconds(batch, position, limits, totals))
    return Course(
        sum(seconds),
        tuple(seconds),
        tuple(BrokerCourse(broker, *values) for broker, values in zip(ids, totals.rows(), strict=True)),
    )


class _Totals:
    """Sums and maxima by broker."""

    def __init__(self, brokers: int) -> None:
        self.sent, self.received = np.zeros(brokers), np.zeros(brokers)
        self.peak_out, self.peak_in = np.zeros(brokers), np.zeros(brokers)
        self.stored, self.peak_extra = np.zeros(brokers), np.zeros(brokers)

    def store(self, batch: Sequence[Move], position: Mapping[int, int]) -> None:
        """Count the bytes of new replicas while the old replicas still exist."""
        for move in batch:
            for broker in move.added:
                self.stored[position[broker]] += move.size or 0
        self.peak_extra = np.maximum(self.peak_extra, self.stored)
        for move in batch:
            for broker in move.removed:
                self.stored[position[broker]] -= move.size or 0

    def rows(self) -> list[tuple[int, int, float, float, int]]:
        columns = (self.sent, self.received, self.peak_out, self.peak_in, self.peak_extra)
        return [
            (int(sent), int(received), float(out), float(into), int(extra))
            for sent, received, out, into, extra in zip(*columns, strict=True)
        ]


def _batch_seconds(batch: Sequence[Move], position: Mapping[int, int], limits: np.ndarray, totals: _Totals) -> float:
    """Return how long a batch takes, and add its rates to the totals."""
    flows = [
        (position[move.source], position[target], move.size) for move in batch if move.size for target in move.added
    ]
    if not flows:
        return 0.0
    sources, targets, left = (np.array(column) for column in zip(*flows, strict=True))
    left = left.astype(float)
    np.add.at(totals.sent, sources, left)
    np.add.at(totals.received, targets, left)
    brokers, elapsed = len(limits), 0.0
    while len(left):
        sending, receiving = np.bincount(sources, minlength=brokers), np.bincount(targets, minlength=brokers)
        rates = np.minimum(limits[sources] / sending[sources], limits[targets] / receiving[targets])
        totals.peak_out = np.maximum(totals.peak_out, np.bincount(sources, weights=rates, minlength=brokers))
        totals.peak_in = np.maximum(totals.peak_in, np.bincount(targets, weights=rates, minlength=brokers))
        step = float((left / rates).min())
        elapsed += step
        left = left - rates * step
        open_flows = left > 1e-6 * limits.max() * step + 1e-9
        sources, targets, left = sources[open_flows], targets[open_flows], left[open_flows]
    return elapsed
