"""Lets Spark find `format("kwire")` by itself: it looks for packages `pyspark_*` with a `DefaultSource`."""

from __future__ import annotations

from kwire_pipeline.source.datasource import KwireSource


class DefaultSource(KwireSource):
    """The format `kwire`; see `kwire_pipeline.source.datasource`."""
