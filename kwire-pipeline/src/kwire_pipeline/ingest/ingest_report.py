"""The report of an ingest, for programs and for the lines that `kwire pipeline` prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire._util.readable import counted
from kwire_pipeline.silver.tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from kwire_pipeline.store.manifest import ReporterPolls

SHOWN = 10
"""Maximum number of polls kept aside that the text of a report names."""


@dataclass
class IngestReport:
    """The outcome of an ingest.

    Attributes:
        rows: added rows by table.
        late: frames that reopened the day that they belong to.
        repeated: frames that were ingested before.
        damaged: segments of captures that cannot be read, and why.
        missing: rows of captures that no segment has.
        polls: the outcome of the new polls of each broker, by its `reporter_key`.
        refused: late frames that are not ingested because bronze lacks other frames of their broker since that day.
        outside: polls that are kept aside because of their time (`clock_faults`).
        seconds: duration.
    """

    rows: dict[str, int] = field(default_factory=dict)
    late: int = 0
    repeated: int = 0
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    polls: dict[str, ReporterPolls] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        counts = [f"{name} {self.rows.get(name, 0):,}" for name in ("bronze", *SILVER_SCHEMAS) if self.rows.get(name)]
        bad = self.rows.get("bad_frames", 0)
        return (
            f"{', '.join(counts) or 'nothing new'} rows; {counted(bad, 'bad frame')}, {self.late:,} late, "
            f"{self.repeated:,} repeated; {self.seconds:.1f} s"
            + "".join(f"\n  damaged: {reason}" for reason in self.damaged)
            + "".join(f"\n  missing: {rows}" for rows in self.missing)
            + "".join(f"\n  refused: {reason}" for reason in self.refused)
            + "".join(f"\n  kept aside: {poll}" for poll in self.outside[:SHOWN])
            + (f"\n  and {len(self.outside) - SHOWN:,} more kept aside" if len(self.outside) > SHOWN else "")
        )

    def add(self, other: IngestReport) -> None:
        """Add the counts of another report."""
        for name, rows in other.rows.items():
            self.rows[name] = self.rows.get(name, 0) + rows
        self.late += other.late
        self.repeated += other.repeated
        for key, polls in other.polls.items():
            self.add_polls(key, polls)
        self.damaged += other.damaged
        self.missing += other.missing
        self.refused += other.refused
        self.outside += other.outside

    def add_polls(self, key: str, polls: ReporterPolls) -> None:
        """Add later polls of a broker."""
        self.polls[key] = self.polls[key].followed_by(polls) if key in self.polls else polls
