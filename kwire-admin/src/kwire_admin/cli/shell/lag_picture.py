"""The lag of groups as text: a line for each partition with its trend."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted
from kwire.terminal.tables import TableColumn, plain_lines
from kwire_admin.cli.shell.lag_history import STEADY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_admin.cli.shell.lag_history import LagTrend

__all__ = ["BARS", "PLAIN_BARS", "lag_lines", "readable_time", "trend_bars"]

BARS = "▁▂▃▄▅▆▇█"
PLAIN_BARS = "_.-=+*#@"
"""Bars for terminals without Unicode."""
WIDTH = 16
"""Characters of a trend."""

COLUMNS = (
    TableColumn("GROUP"),
    TableColumn("TOPIC"),
    TableColumn("PART", number=True),
    TableColumn("COMMITTED", number=True),
    TableColumn("LOG END", number=True),
    TableColumn("LAG", number=True),
    TableColumn("TREND"),
    TableColumn("LAG/S", number=True),
    TableColumn("CAUGHT UP IN"),
    TableColumn("STORE"),
)


def lag_lines(trends: Sequence[LagTrend], bars: str) -> list[str]:
    """Return a table of the lag of partitions, and the sum if there are several.

    The last column is shown if offsets are not only in brokers.

    Args:
        trends: the partitions.
        bars: characters from low to high.
    """
    rows = [
        [
            trend.group,
            trend.topic,
            str(trend.partition),
            _number(trend.committed),
            _number(trend.end),
            _number(trend.lag),
            trend_bars(trend.lags, bars),
            "-" if trend.change is None else f"{trend.change:+.1f}",
            _caught_up(trend),
            trend.store,
        ]
        for trend in trends
    ]
    shown = len(COLUMNS) if any(trend.store != "brokers" for trend in trends) else len(COLUMNS) - 1
    lines = list(plain_lines(COLUMNS[:shown], [row[:shown] for row in rows]))
    lags = [trend.lag for trend in trends if trend.lag is not None]
    if len(lags) > 1:
        lines += ["", f"{counted(sum(lags), 'message')} behind in {len(lags)} partitions"]
    return lines


def trend_bars(lags: Sequence[int], bars: str) -> str:
    """Return the last lags as bars from the smallest to the largest of them, so that any change is visible."""
    shown = lags[-WIDTH:]
    smallest, largest = min(shown, default=0), max(shown, default=0)
    if smallest == largest:
        return (bars[-1] if largest else bars[0]) * len(shown)
    return "".join(bars[(lag - smallest) * (len(bars) - 1) // (largest - smallest)] for lag in shown)


def readable_time(seconds: float) -> str:
    """Return a time in the largest unit that it fills, such as `12 min`."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _caught_up(trend: LagTrend) -> str:
    if trend.catch_up is not None:
        return "now" if trend.lag == 0 else readable_time(trend.catch_up)
    if trend.change is None:
        return "-"
    return "grows" if trend.change > STEADY else "steady"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
