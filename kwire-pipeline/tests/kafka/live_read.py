"""A Spark program: reads a secured cluster live, and explains the plan.

    python -m tests.kafka.live_read BOOTSTRAP CLIENT.PROPERTIES FOLDER SASL.JAAS.CONFIG

It writes the event log to FOLDER/events, and plans and errors to stdout. The last argument is tried as an option.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(bootstrap: str, properties: str, folder: str, jaas: str) -> None:
    """Run the program."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    events = Path(folder, "events")
    events.mkdir()
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.ui.enabled": "false",
        "spark.log.level": "INFO",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    live = {"bootstrap": bootstrap, "commandConfig": properties, "interval": "0.1", "seconds": "6"}
    frame = spark.read.format("kwire").options(**live).load(f"{folder}/batch")
    frame.explain(extended=True)
    answered = frame.where("kind <> 'error'").count()
    sys.stdout.write(f"answered: {answered > 0}\n")
    for option in ("sasl.jaas.config", "kafka.sasl.jaas.config"):
        try:
            spark.read.format("kwire").options(bootstrap=bootstrap).option(option, jaas).load(
                f"{folder}/inline"
            ).count()
        except Exception as error:  # noqa: BLE001  # any error is written and examined
            sys.stdout.write(f"refused {option}: {error}\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
