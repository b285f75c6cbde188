"""Gold: agreed states, events, and incidents of clusters, computed from silver. docs/gold.md describes the tables.

`build` brings the tables up to date, `cluster_at` returns a cluster at a point in time, and `TABLES` declares the
tables.
"""

from __future__ import annotations

from kwire.spark.gold.build import TABLES, build
from kwire.spark.gold.cluster_at import cluster_at
from kwire.spark.gold.tables import GoldTable
from kwire.spark.gold.view import GoldView

__all__ = ["TABLES", "GoldTable", "GoldView", "build", "cluster_at"]
