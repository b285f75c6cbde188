"""The function that a stream calls with each micro-batch.

In a classic session it runs in the driver. Behind Spark Connect, Spark pickles it and runs it in a process beside the
server, where it opens the pipeline again with the session of the batch.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire.storage.location import Location

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from kwire.spark.ingest.ingest_report import IngestReport
    from kwire.spark.pipeline import Pipeline


class BatchIngest:
    """Ingests each micro-batch of a stream exactly once.

    Args:
        pipeline: the pipeline.
        checkpoint: the folder where Spark keeps the offsets of the stream. The id of the query is read there: with a
            new checkpoint, batches are numbered from 0 again.
        on_report: called with the report of each batch, in the process that runs this function.
    """

    def __init__(self, pipeline: Pipeline, checkpoint: str, on_report: Callable[[IngestReport], object] | None) -> None:
        self._pipeline: Pipeline | None = pipeline
        self._out = pipeline.out
        self._settings: dict[str, Any] = {
            "reference_codec": pipeline.reference_codec,
            "keep_replaced": pipeline.keep_replaced,
        }
        self._checkpoint = checkpoint
        self._on_report = on_report
        self._query_id = ""

    def __call__(self, batch: DataFrame, number: int) -> None:
        if self._pipeline is None:
            from kwire.spark.pipeline import Pipeline

            self._pipeline = Pipeline(batch.sparkSession, self._out, **self._settings)
        if not self._query_id:
            self._query_id = _query_id(self._checkpoint)
        report = self._pipeline.ingest(batch, batch=(self._query_id, number))
        if self._on_report is not None:
            self._on_report(report)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pipeline": None}


def _query_id(checkpoint: str) -> str:
    """Return the id of the query, which Spark writes to the checkpoint before the first batch."""
    with Location.parse(checkpoint).files().open_input_stream("metadata") as stream:
        return str(json.loads(stream.read())["id"])
