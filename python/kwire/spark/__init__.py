"""Kafka's metadata on Spark: frames into columns, captures as a data source, and the pipeline that makes history of
polls. Needs pyspark 4 (``pip install 'kwire[spark]'``); executors need the wheel and what Spark needs anyway.

``decode_frames`` makes rows of frames that lie in any table; ``register`` makes ``format("kwire")`` known to a session;
``Pipeline`` turns what brokers answered into changes (silver) and answers (gold): docs/pipeline.md, docs/gold.md.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.spark.datasource import register
    from kwire.spark.frames import decode_frames
    from kwire.spark.pipeline import Pipeline

__all__ = ["Pipeline", "decode_frames", "register"]

if not TYPE_CHECKING:
    _HOME = {"Pipeline": "pipeline", "decode_frames": "frames", "register": "datasource"}

    def __getattr__(name: str) -> Any:
        """Import on first use: a worker in an executor wants the walk through frames and not the driver's half."""
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module 'kwire.spark' has no attribute {name!r}")
        return getattr(import_module(f"kwire.spark.{_HOME[name]}"), name)
