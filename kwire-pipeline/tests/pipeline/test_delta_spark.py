"""Delta's own reader sees the tables of a pipeline that runs on Spark 4.2, also by their names in a catalog.

delta-spark does not exist for the installed Spark yet (docs/design/tables.md).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kwire_pipeline.gold import TABLES as GOLD_TABLES
from kwire_pipeline.sql_views import VIEWS
from kwire_pipeline.store.commits import PipelineStore
from tests.pipeline.sinks.alerts import incident, set_incidents
from tests.pipeline.spark_versions import run_program
from tests.real_kafka.jars import jars_of

pytestmark = pytest.mark.programs

VERSION = "4.2.0"
"""The newest PySpark with a delta-spark."""
TABLES = ("polls", "partitions", "intervals", "incidents")

SESSION = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession

out, jars = sys.argv[1:3]
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
"""

PROGRAM = """
from kwire_pipeline.pipeline import Pipeline
from tests.pipeline.bronze_rows import failed_poll, response, table, topic

names = sys.argv[3].split(",")
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

WRITERS = """
import shutil

from kwire.errors import KwireError
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.store import maintenance
from kwire_pipeline.store.check import check
from tests.pipeline.bronze_rows import failed_poll, response, table, topic

spark = builder.config("spark.databricks.delta.retentionDurationCheck.enabled", "false").getOrCreate()
frames = Path(out) / "frames"
seed = Pipeline(spark, f"{out}/seed")
seed.ingest(table(spark, frames, response(0, topic("a")), response(1, topic("a"), topic("b"))))
seed.ingest(table(spark, frames, failed_poll(2), failed_poll(3), response(4, topic("a"))))
seed.gold()
later = table(spark, frames, response(60, topic("a", 2, epoch=9)), failed_poll(61))

MAP = (
    "ALTER TABLE {t} SET TBLPROPERTIES"
    " ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
)
OPERATIONS = {
    "nothing": [],
    "column mapping": [MAP, "OPTIMIZE {t}"],
    "column renamed and back": [
        MAP, "ALTER TABLE {t} RENAME COLUMN leader TO boss", "ALTER TABLE {t} RENAME COLUMN boss TO leader"
    ],
    "RENAME COLUMN": [MAP, "ALTER TABLE {t} RENAME COLUMN leader TO boss"],
    "DROP COLUMN": [MAP, "ALTER TABLE {t} DROP COLUMN leader"],
    "added again": [MAP, "ALTER TABLE {t} DROP COLUMN leader", "ALTER TABLE {t} ADD COLUMNS (leader int)"],
    "REPLACE": ["CREATE OR REPLACE TABLE {t} USING delta AS SELECT * FROM {t}"],
    "row tracking": ["ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"],
    "VACUUM LITE": ["OPTIMIZE {t}", "VACUUM {t} LITE RETAIN 0 HOURS"],
    "checkpoints of version 2": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '1')",
        "OPTIMIZE {t}",
    ],
    "change data": ["ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", "OPTIMIZE {t}"],
    "CHECK": ["ALTER TABLE {t} ADD CONSTRAINT numbered CHECK (partition >= 0)"],
    "no statistics": ["ALTER TABLE {t} SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0')", "OPTIMIZE {t}"],
    "OPTIMIZE": ["OPTIMIZE {t}"],
    "ZORDER": ["OPTIMIZE {t} ZORDER BY (topic)"],
    "OPTIMIZE, VACUUM": ["OPTIMIZE {t}", "VACUUM {t} RETAIN 0 HOURS"],
    "REORG": ["REORG TABLE {t} APPLY (PURGE)"],
    "DELETE": ["DELETE FROM {t} WHERE topic = 'b'"],
    "UPDATE": ["UPDATE {t} SET leader = 7"],
    "MERGE": ["MERGE INTO {t} t USING (SELECT 'b' AS topic) s ON s.topic = t.topic WHEN MATCHED THEN DELETE"],
    "RESTORE": ["RESTORE TABLE {t} TO VERSION AS OF 1"],
    "INSERT": ["INSERT INTO {t} SELECT * FROM {t}"],
    "ADD COLUMN": ["ALTER TABLE {t} ADD COLUMNS (note string)", "OPTIMIZE {t}"],
    "properties": ["ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')", "OPTIMIZE {t}"],
    "prefixes": ["ALTER TABLE {t} SET TBLPROPERTIES ('delta.randomizeFilePrefixes' = 'true')", "OPTIMIZE {t}"],
    "deletion vectors": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "DELETE FROM {t} WHERE topic = 'b'",
    ],
    "overwrite, VACUUM": ["INSERT OVERWRITE {t} SELECT * FROM {t}", "VACUUM {t} RETAIN 0 HOURS"],
    "DELETE, VACUUM": ["DELETE FROM {t} WHERE topic = 'b'", "VACUUM {t} RETAIN 0 HOURS"],
}


def rows(pipeline):
    names = ("partitions", "polls", "incidents", "intervals")
    collected = {name: pipeline.table(name).drop("note").collect() for name in names}
    return {name: sorted(str(row.asDict(True)) for row in found) for name, found in collected.items()}


def outcome(name):
    folder = f"{out}/{name.replace(' ', '-').replace(',', '')}"
    shutil.copytree(f"{out}/seed", folder)
    for statement in OPERATIONS[name]:
        spark.sql(statement.format(t=f"delta.`{folder}/silver/partitions`"))
    try:
        pipeline = Pipeline(spark, folder)
        before = rows(pipeline)
        pipeline.ingest(later)
        pipeline.gold()
        maintenance.optimize(pipeline._store)
        return [before, rows(pipeline), len(check(pipeline._store))]
    except KwireError as error:
        return str(error)


expected = outcome("nothing")
print(json.dumps({
    name: found if isinstance(found, str) else found == expected
    for name in OPERATIONS
    for found in [outcome(name) if name != "nothing" else expected]
}))
spark.stop()
"""

REFUSED = {
    "DELETE, VACUUM": "lacks rows of commit 2.* after DELETE of Apache-Spark",
    "deletion vectors": "rows are deleted by deletion vectors since DELETE of Apache-Spark",
    "RENAME COLUMN": "column leader was renamed boss since RENAME COLUMN of Apache-Spark",
    "DROP COLUMN": "column leader was dropped since DROP COLUMNS of Apache-Spark",
    "added again": "column leader was dropped and added again since DROP COLUMNS of Apache-Spark",
    "REPLACE": "found no partition columns, expected partition columns date since CREATE OR REPLACE TABLE",
    "row tracking": "deltalake does not write tables with rowTracking since UPGRADE PROTOCOL of Apache-Spark",
}
"""Operations after which nothing is written, and the error."""

METASTORE = """
from kwire_pipeline.sql_views import VIEWS, registration

folder, task = sys.argv[3:5]
builder = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse").enableHiveSupport()
java_options = f"{settings['spark.driver.extraJavaOptions']} -Dderby.system.home={folder}"
builder = builder.config("spark.driver.extraJavaOptions", java_options)
database = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
spark = builder.config("spark.hadoop.javax.jdo.option.ConnectionURL", database).getOrCreate()
if task == "register":
    for _ in range(2):
        for statement in registration(out, "kafka"):
            spark.sql(statement)
else:
    described = {row.col_name: row.comment for row in spark.sql("DESCRIBE kafka.incidents").collect()}
    print(json.dumps({
        "incidents": [row.kind for row in spark.sql("SELECT kind FROM kafka.current_incidents").collect()],
        "views": [spark.sql(f"SELECT * FROM kafka.{view.name}").count() for view in VIEWS],
        "comment": described["caused_by"],
    }))
spark.stop()
"""


def test_catalog_has_tables_and_views_in_a_new_session(tmp_path: Path) -> None:
    out, jars = tmp_path / "out", jars_of(Path(__file__).with_name("delta42.xml"))
    store = PipelineStore(str(out))
    store.create({table.folder: table.layout for table in GOLD_TABLES})
    set_incidents(store, incident(0), incident(10, kind="config_changed", ended=20))

    run_program(SESSION + METASTORE, out, jars, tmp_path, "register", version=VERSION)
    set_incidents(store, incident(0), incident(30, kind="broker_lost"))
    found = json.loads(run_program(SESSION + METASTORE, out, jars, tmp_path, "read", version=VERSION).splitlines()[-1])

    assert sorted(found["incidents"]) == ["broker_killed", "broker_lost"]  # views show the newest commit
    assert len(found["views"]) == len(VIEWS)
    assert found["comment"] == "the incident that caused this one; null if an operator or an accident did"


def test_delta_spark_reads_all_tables_and_earlier_versions(tmp_path: Path) -> None:
    jars = jars_of(Path(__file__).with_name("delta42.xml"))

    found = json.loads(
        run_program(SESSION + PROGRAM, tmp_path, jars, ",".join(TABLES), version=VERSION).splitlines()[-1]
    )

    snapshot = PipelineStore(str(tmp_path)).snapshot()
    counts = {
        name: sum(file.rows for file in snapshot.files(folder))
        for folder in snapshot.versions
        for name in TABLES
        if folder.endswith(f"/{name}")
    }
    assert found["spark"] == VERSION
    assert found["last"] == counts
    assert found["newest"] == counts["partitions"] > found["first"] > 0


@pytest.mark.timeout(1_800)
def test_delta_spark_may_write_to_the_tables(tmp_path: Path) -> None:
    """The same rows, or an error that names the operation before anything is written."""
    jars = jars_of(Path(__file__).with_name("delta42.xml"))

    outcomes = json.loads(run_program(SESSION + WRITERS, tmp_path / "out", jars, version=VERSION).splitlines()[-1])

    refused = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, str)}
    assert {name for name, outcome in outcomes.items() if outcome is False} == set()
    assert refused.keys() <= REFUSED.keys()
    for name, text in refused.items():
        assert re.search(REFUSED[name], text), name
