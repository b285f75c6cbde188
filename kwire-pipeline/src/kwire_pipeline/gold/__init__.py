"""Gold: agreed states, events, and incidents of clusters, computed from silver. docs/gold.md describes the tables.

`build` brings the tables up to date, `cluster_at` returns a cluster at a point in time, and `TABLES` declares the
tables.
"""

from __future__ import annotations

from kwire_pipeline.gold.build import TABLES, build
from kwire_pipeline.gold.cluster_at import cluster_at
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.view import GoldView

__all__ = ["TABLES", "GoldTable", "GoldView", "build", "cluster_at"]
