"""Queries in this process give the rows that Spark gives."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kwire_pipeline.in_process import (
    aggregate,
    broadcast,
    divide,
    left_join,
    run_in_process,
    select,
    time_literal,
    with_columns,
)
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


ORDER = "PARTITION BY group ORDER BY at, name"


def selected(rows: DataFrame) -> DataFrame:
    """Return expressions over the rows whose meaning is not the same in each dialect of SQL."""
    return select(
        rows,
        f"""name,
        xxhash64(name, number, size(numbers), numbers) AS hash,
        pmod(xxhash64(name), 16) AS bucket,
        array_except(numbers, array(2)) AS except_2,
        array_intersect(numbers, array(1, 2)) AS intersected,
        array_compact(array(name, group)) AS compacted,
        sort_array(numbers) AS sorted,
        filter(numbers, value -> value > number) AS greater,
        transform(numbers, value -> CAST(struct(value, 'it, too') AS struct<of:int,at:string>)) AS structs,
        map_from_entries(array(struct('group', group))) AS facts,
        try_element_at(numbers, 1) AS first,
        CASE WHEN number > 2 THEN 'many' WHEN number < 0 THEN 'negative' ELSE name END AS size,
        name <=> lag(name) OVER ({ORDER}) AS as_before,
        CAST(sum(number) OVER ({ORDER}) AS bigint) AS sum,
        percentile_approx(number, 0.5) OVER (PARTITION BY group) AS median,
        date_format(at, 'yyyy-MM-dd') AS day,
        CAST(hour(at) AS int) AS hour,
        unix_micros(date_trunc('hour', at)) AS began,
        timestamp_micros(unix_micros(at) + 1) AS later,
        CAST(floor(number / 2.0) AS bigint) AS half,
        regexp_like(name, '(?i)ABC') AS matches,
        startswith(name, 'x') AS starts,
        unhex(name) AS bytes,
        CAST(NULL AS array<string>) AS nothing,
        at > {time_literal(NOON)} AS after_noon""",
    )


def summed(rows: DataFrame) -> DataFrame:
    """Return groups of the rows, joined with the rows themselves."""
    groups = aggregate(
        rows,
        "group AS of_group",
        """count(*) AS rows, avg(number) AS mean, sort_array(collect_set(name)) AS names,
        max_by(name, struct(number, name)) AS largest""",
    )
    exploded = with_columns(rows, number="explode(numbers)").where("number <> 2 AND name IS NOT NULL")
    joined = left_join(exploded, groups, "`group` <=> of_group").drop("numbers")
    named, others = divide(rows, "name", ["it's", "x"])
    absent = broadcast(select(named, "group, name"))
    return joined.unionByName(
        left_join(others.join(absent, ["group"], "left_anti"), groups, "false").select(*joined.columns)
    )


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
