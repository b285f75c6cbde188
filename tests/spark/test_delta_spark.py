"""Delta's own reader sees the tables of a pipeline that runs on Spark 4.2.

delta-spark does not exist for the installed Spark yet (docs/design/tables.md).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwire.spark.store.commits import PipelineStore
from kwire.testing.kafka.jars import jars_of
from tests.spark.spark_versions import run_program

pytestmark = pytest.mark.programs

TABLES = ("polls", "partitions", "intervals", "incidents")

PROGRAM = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from kwire.spark.pipeline import Pipeline
from tests.spark.bronze_rows import failed_poll, response, table, topic

out, jars, names = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
settings = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "600m",
    "spark.jars": ",".join(map(str, Path(jars).glob("*.jar"))),
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.log.level": "ERROR",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
builder = SparkSession.builder.master("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
pipeline = Pipeline(spark, out)
frames = Path(out) / "frames"
pipeline.ingest(table(spark, frames, response(0, topic("a")), response(1, topic("a"), topic("b"))))
pipeline.ingest(table(spark, frames, failed_poll(2), failed_poll(3), response(4, topic("a"))))
pipeline.gold()


def rows(frame):
    return sorted(map(str, frame.select(sorted(frame.columns)).collect()))


def same(snapshot, name):
    folder = next(each for each in snapshot.versions if each.rpartition("/")[2] == name)
    delta = spark.read.format("delta").option("versionAsOf", snapshot.versions[folder]).load(f"{out}/{folder}")
    return rows(delta) == rows(snapshot.table(name)) and delta.count()


first, last = pipeline.snapshot(number=1), pipeline.snapshot()
newest = spark.read.format("delta").load(f"{out}/silver/partitions")
print(json.dumps({
    "spark": spark.version,
    "first": same(first, "partitions"),
    "last": {name: same(last, name) for name in names},
    "newest": newest.count(),
}))
spark.stop()
"""


def test_delta_spark_reads_all_tables_and_earlier_versions(tmp_path: Path) -> None:
    jars = jars_of(Path(__file__).with_name("delta42.xml"))

    found = json.loads(run_program(PROGRAM, tmp_path, jars, ",".join(TABLES), version="4.2.0").splitlines()[-1])

    snapshot = PipelineStore(str(tmp_path)).snapshot()
    counts = {
        name: sum(file.rows for file in snapshot.files(folder))
        for folder in snapshot.versions
        for name in TABLES
        if folder.endswith(f"/{name}")
    }
    assert found["spark"] == "4.2.0"
    assert found["last"] == counts
    assert found["newest"] == counts["partitions"] > found["first"] > 0
