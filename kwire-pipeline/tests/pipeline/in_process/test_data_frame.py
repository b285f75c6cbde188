"""Queries in this process give the rows that Spark gives."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire_pipeline.in_process import Window, f, run_in_process
from kwire_pipeline.in_process.xxhash64 import xxhash64

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DDL = "name string, number int, numbers array<int>, at timestamp, `group` string"
NOON = datetime(2026, 11, 21, 12, 34, 56, 789, UTC)
ROWS: list[tuple[Any, ...]] = [
    ("", 1, [1, 2, 1], NOON, "a"),
    ("it's", -1, [], NOON.replace(hour=13), "a"),
    ("äöü" * 15, 2**31 - 1, [7], NOON.replace(hour=11), "b"),
    ("x" * 31, 0, [-5, 3], NOON.replace(day=1), "b"),
    ("y" * 32, 4, [2, 3], None, "b"),
    ("abcdefghijkl", 3, None, NOON, None),
    (None, 3, [0], NOON, None),
]


def selected(rows: DataFrame) -> DataFrame:
    """Return expressions over the rows whose meaning is not the same in each dialect of SQL."""
    order = Window.partitionBy("group").orderBy("at", "name")
    return rows.select(
        "name",
        f.xxhash64("name", "number", f.size("numbers"), "numbers").alias("hash"),
        f.pmod(f.xxhash64("name"), f.lit(16)).alias("bucket"),
        f.array_except("numbers", f.array(f.lit(2))).alias("except"),
        f.array_intersect("numbers", f.array(f.lit(1), f.lit(2))).alias("intersect"),
        f.sort_array("numbers").alias("sorted"),
        f.filter("numbers", lambda value, i: (i == 0) | (value > f.get("numbers", i - 1))).alias("rising"),
        f.transform("numbers", lambda value: f.struct(value.alias("of"))).alias("structs"),
        f.get("numbers", f.lit(0)).alias("first"),
        f.when(f.col("number") > 2, "many")
        .when(f.col("number") < 0, "negative")
        .otherwise(f.col("name"))
        .alias("case"),
        f.col("name").eqNullSafe(f.lag("name").over(order)).alias("as_before"),
        f.last(f.when(f.col("number") > 0, f.col("number")), ignorenulls=True)
        .over(order.rowsBetween(Window.unboundedPreceding, -1))
        .alias("last_positive"),
        f.sum(f.col("number").cast("bigint")).over(order).alias("sum"),
        f.percentile_approx("number", 0.5).over(Window.partitionBy("group")).alias("median"),
        f.date_format("at", "yyyy-MM-dd").alias("day"),
        f.unix_micros(f.date_trunc("hour", "at")).alias("hour"),
        f.floor(f.col("number") / 2.0).alias("half"),
        f.coalesce(f.col("name").rlike("(?i)ABC"), f.lit(False)).alias("matches"),
    )


def summed(rows: DataFrame) -> DataFrame:
    """Return groups of the rows, joined with the rows themselves."""
    groups = rows.groupBy("group").agg(
        f.count("*").alias("rows"),
        f.avg("number").alias("mean"),
        f.sort_array(f.collect_set("name")).alias("names"),
        f.max_by(f.struct("name", "number"), f.struct("number", "name")).alias("largest"),
    )
    exploded = rows.withColumn("number", f.explode("numbers")).where("number <> 2 and name is not null")
    joined = exploded.join(groups, "group", "left").drop("numbers")
    return joined.unionByName(rows.join(groups, ["group"], "left_anti").join(groups, "group", "left").drop("numbers"))


def test_queries_give_rows_of_spark(spark: SparkSession) -> None:
    of_spark = spark.createDataFrame(ROWS, DDL)
    wanted = [rows(selected(of_spark)), rows(summed(of_spark))]

    with run_in_process() as session:
        here = session.createDataFrame(ROWS, DDL)
        found = [rows(selected(here)), rows(summed(here))]

    assert found == wanted
    assert len(wanted[0]) == len(ROWS)


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.toArrow().to_pylist()))


def test_hash_of_absent_values_is_hash_of_others() -> None:
    assert xxhash64((None, "a", None)) == xxhash64(("a",))
    assert xxhash64(()) == 42
