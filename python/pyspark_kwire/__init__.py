"""By this name Spark finds ``format("kwire")``: it looks for packages ``pyspark_*`` that hold a ``DefaultSource``."""

from __future__ import annotations

from kwire.spark.datasource import KwireSource


class DefaultSource(KwireSource):
    """See ``kwire.spark.datasource``."""
