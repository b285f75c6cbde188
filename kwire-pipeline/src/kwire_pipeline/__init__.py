"""Kafka metadata on Spark: frames to columns, captures as a data source, and the pipeline.

`decode_frames` decodes the frames in any table, `register` adds `format("kwire")` to a session, and `Pipeline` turns
frames into changes (silver) and events (gold). docs/pipeline.md and docs/gold.md describe them.

Requires pyspark 4: `pip install 'kwire[spark]'`. Executors need the wheel and what Spark itself needs.
"""

from __future__ import annotations

from kwire._util.late_names import late_names

__version__ = "0.1.0"

_MODULES = {
    "kwire_pipeline.source.datasource": ("register",),
    "kwire_pipeline.frames": ("decode_frames",),
    "kwire_pipeline.pipeline": ("Pipeline",),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
