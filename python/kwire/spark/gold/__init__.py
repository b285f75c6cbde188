"""Gold: answers about clusters, made from silver's changes. See docs/gold.md for the tables and what to ask them.

`build` brings the tables up to date, `cluster_at` shows a cluster at an instant, `TABLES` documents each column.
"""

from __future__ import annotations

from kwire.spark.gold.build import TABLES, build
from kwire.spark.gold.cluster_at import cluster_at
from kwire.spark.gold.tables import Column, Table

__all__ = ["TABLES", "Column", "Table", "build", "cluster_at"]
