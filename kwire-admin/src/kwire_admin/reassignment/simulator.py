"""The course of a plan: its duration, and the load of brokers meanwhile.

The model is a fluid one: a move copies from the leader to each added replica, and a broker divides its bandwidth, or
its throttle, evenly among the moves that it sends, and among the moves that it receives. A batch starts when its
predecessor is complete. Real brokers redistribute bandwidth that a move does not use, so they are a little faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.plan import BrokerCourse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire_admin.reassignment.plan import Move


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


def simulate(batches: Sequence[Sequence[Move]], rate: int) -> Course:
    """Return the course of batches.

    Args:
        batches: the moves.
        rate: bytes a second that each broker may send, and receive, above 0.
    """
    ids = sorted({broker for batch in batches for move in batch for broker in (*move.before, *move.after)})
    position = {broker: index for index, broker in enumerate(ids)}
    totals = _Totals(len(ids))
    seconds = []
    for batch in batches:
        totals.store(batch, position)
        seconds.append(_batch_seconds(batch, position, rate, totals))
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

    def rows(self) -> list[list[int]]:
        """Return bytes sent and received, the peaks, and the bytes stored in addition, by broker."""
        columns = (self.sent, self.received, self.peak_out, self.peak_in, self.peak_extra)
        rows: list[list[int]] = np.rint(np.column_stack(columns)).astype(np.int64).tolist()
        return rows


def _batch_seconds(batch: Sequence[Move], position: Mapping[int, int], rate: int, totals: _Totals) -> float:
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
    brokers, elapsed = len(position), 0.0
    while len(left):
        sending, receiving = np.bincount(sources, minlength=brokers), np.bincount(targets, minlength=brokers)
        rates = rate / np.maximum(sending[sources], receiving[targets])
        totals.peak_out = np.maximum(totals.peak_out, np.bincount(sources, weights=rates, minlength=brokers))
        totals.peak_in = np.maximum(totals.peak_in, np.bincount(targets, weights=rates, minlength=brokers))
        step = float((left / rates).min())
        elapsed += step
        left = left - rates * step
        open_flows = left > 1e-6 * rate * step + 1e-9
        sources, targets, left = sources[open_flows], targets[open_flows], left[open_flows]
    return elapsed
