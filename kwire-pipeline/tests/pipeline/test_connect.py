"""The pipeline behind Spark Connect: ingest, gold, and a stream, in a process of its own.

Spark starts a process for the function of each stream, and gives it ten seconds to import PySpark and to
connect (docs/deployment.md). On a busy machine that can be too little, so the test starts the stream again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipeline.spark_versions import run_program

pytestmark = pytest.mark.programs

PROGRAM = """
import json, sys
from pathlib import Path
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from kwire.capture import Capture
from kwire_pipeline.pipeline import Pipeline
from tests.pipeline.bronze_rows import START, failed_poll, response, table, topic

folder = Path(sys.argv[1])
settings = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "700m",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
builder = SparkSession.builder.remote("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
pipeline = Pipeline(spark, str(folder / "out"))
frames = folder / "frames"
polls = [response(at, topic("a"), topic("b")) for at in range(5)]
ingested = pipeline.ingest(table(spark, frames, *polls)).rows["polls"]
with Capture(folder / "capture") as capture:
    capture.append_many([response(5 + at, topic("a"), cluster="c")._replace(cluster_id="c") for at in range(5)])
attempts = 0
while attempts < 5:
    attempts += 1
    stream = pipeline.stream(spark.readStream.format("kwire").load(str(folder / "capture")), availableNow=True)
    try:
        stream.awaitTermination(300)
        break
    except StreamingQueryException as error:
        if "failed to connect back" not in str(error):
            raise
pipeline.gold()
print(json.dumps({
    "session": type(spark).__module__,
    "ingested": ingested,
    "polls": pipeline.table("polls").count(),
    "incidents": [row.kind for row in pipeline.table("incidents").collect()],
    "then": sorted(row.topic for row in pipeline.cluster_at(START).collect()),
    "now": [row.topic for row in pipeline.cluster_at(START.replace(second=9), broker_id=1).collect()],
}))
spark.stop()
"""


def test_pipeline_runs_behind_spark_connect(tmp_path: Path) -> None:
    found = json.loads(run_program(PROGRAM, tmp_path).splitlines()[-1])

    assert found == {
        "session": "pyspark.sql.connect.session",
        "ingested": 5,
        "polls": 10,
        "incidents": ["topic_deleted"],
        "then": ["a", "b"],
        "now": ["a"],
    }
