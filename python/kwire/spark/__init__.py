"""Kafka metadata on Spark: frames to columns, captures as a data source, and the pipeline.

`decode_frames` decodes the frames in any table, `register` adds `format("kwire")` to a session, and `Pipeline` turns
frames into changes (silver) and events (gold). docs/pipeline.md and docs/gold.md describe them.

Requires pyspark 4: `pip install 'kwire[spark]'`. Executors need the wheel and what Spark itself needs.
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
    _MODULES = {"Pipeline": "pipeline", "decode_frames": "frames", "register": "datasource"}

    def __getattr__(name: str) -> Any:
        """Import a name on first use: workers in executors do not need the modules of the driver."""
        from importlib import import_module

        if name not in _MODULES:
            raise AttributeError(f"module 'kwire.spark' has no attribute {name!r}")
        return getattr(import_module(f"kwire.spark.{_MODULES[name]}"), name)
