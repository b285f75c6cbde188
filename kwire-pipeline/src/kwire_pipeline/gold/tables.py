"""Declarations of gold tables.

Layout: `OUT/gold/<table>/date=YYYY-MM-DD/hour=HH/*.parquet` in UTC. A row belongs to the hour in which the brokers
agreed on its event; intervals belong to the hour of their end, and incidents to the hour of their beginning, or to the
first hour of the build that found them if that is later. Rows without an end are under `date=open`. A build replaces
all files of an hour, so building an hour twice gives the same table.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire_pipeline.tables import DATE, HOUR, Layout, Table


@dataclass(frozen=True, slots=True)
class GoldTable(Table):
    """A table of gold, declared beside the code that computes it."""

    @property
    def folder(self) -> str:
        """The folder of the table, relative to the folder of the pipeline."""
        return f"gold/{self.name}"

    @property
    def layout(self) -> Layout:
        """The stored form with the partition columns."""
        return self.stored(DATE, HOUR)
