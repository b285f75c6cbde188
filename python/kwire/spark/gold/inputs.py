"""Gold of what is known besides metadata (`kwire.spark.silver.inputs`, desired configs), a module each.

`plan` of a module plans tables (`GoldBuild.replace`) and state (`GoldBuild.keep_state`), and returns signals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold import broker_disk, config_deviations, consumer_lag

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

    from kwire.spark.gold.tables import GoldTable
    from kwire.spark.gold.view import GoldBuild

TABLES: tuple[GoldTable, ...] = (
    consumer_lag.TABLE,
    broker_disk.USAGE,
    broker_disk.TOPIC_USAGE,
    config_deviations.DESIRED,
    config_deviations.TABLE,
)
"""The tables of all inputs."""

_INPUTS = (consumer_lag, broker_disk, config_deviations)


def plan(build: GoldBuild, start: datetime | None, stop: datetime, as_of: datetime | None) -> list[DataFrame]:
    """Plan the tables and states of a window, and return the signals of inputs that were polled.

    Args:
        build: the build.
        start: the beginning of the window; None is the beginning of the history.
        stop: its end.
        as_of: the hour of which the state is kept; None keeps none.
    """
    found = (each.plan(build, start, stop, as_of) for each in _INPUTS)
    return [signals for signals in found if signals is not None]
