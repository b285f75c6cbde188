"""The topics and groups that have series."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Selection"]


class Selection:
    """The topics and groups that have series, and the level of detail.

    Args:
        level: 0 for the cluster and groups, 1 with topics, 2 with partitions, 3 with their leaders and replicas.
        topics: expression that the whole name of a topic must match.
        groups: expression that the whole id of a group must match.
        excluded_topics: expression that it must not match; None for none.
        excluded_groups: expression that it must not match; None for none.
        max_series: maximum number of series of a cluster.

    Raises:
        re.error: an expression is invalid.
    """

    def __init__(
        self,
        level: int = 2,
        topics: str = ".*",
        groups: str = ".*",
        excluded_topics: str | None = None,
        excluded_groups: str | None = None,
        max_series: int = 1_000_000,
    ) -> None:
        self.level = level
        self.max_series = max_series
        self.has_topic = _matcher(topics, excluded_topics)
        self.has_group = _matcher(groups, excluded_groups)


def _matcher(include: str, exclude: str | None) -> Callable[[str], bool]:
    """Return a function that returns whether a name matches `include` and not `exclude`."""
    included = re.compile(include)
    excluded = None if exclude is None else re.compile(exclude)
    return lambda name: bool(included.fullmatch(name)) and not (excluded is not None and excluded.fullmatch(name))
