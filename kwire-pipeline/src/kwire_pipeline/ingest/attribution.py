"""The cluster, broker, and poller that rows of bronze belong to.

Brokers before 0.10.1 report no id of the cluster, and a broker that is down reports nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kwire_pipeline.silver.state_builder import StateBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.capture.rows import Row

RESPONSES_AHEAD = 64
"""Maximum number of responses searched for the id of the cluster; older clusters do not report one. Chosen."""

FAILED_POLLS_AHEAD = 10_000
"""Maximum number of failed polls held back until a response reports the id of the cluster. Chosen: about three hours of
polls, 10 MB."""


def broker_of(row: Row) -> tuple[str | None, int, str, str | None]:
    """Return the broker and poller of a row as `bronze.partition_by_broker` identifies them."""
    endpoint = row.endpoint if row.cluster_id is None or row.broker_id < 0 else ""
    return row.cluster_id, row.broker_id, endpoint, row.poller_id


def with_cluster(rows: Iterator[Row], cluster: str) -> Iterator[tuple[Row, str]]:
    """Return the rows with their cluster: the given one, or the first that a response reports.

    A broker that is down when polling starts belongs to the cluster that it reports later.
    """
    while not cluster:
        ahead: deque[Row] = deque()
        cluster, responses = _read_until_cluster(rows, ahead)
        yield from ((row, cluster) for row in ahead)
        if not ahead or responses >= RESPONSES_AHEAD:
            break
    yield from ((row, cluster) for row in rows)


def _read_until_cluster(rows: Iterator[Row], ahead: deque[Row]) -> tuple[str, int]:
    """Move rows to `ahead` until a response reports a cluster.

    Returns:
        The cluster, empty if none is reported, and the number of responses in `ahead`.
    """
    builder = StateBuilder()
    responses = 0
    for row in rows:
        ahead.append(row)
        if row.frame is not None:
            responses += 1
            if reported := builder.apply(row).cluster_id:
                return reported, responses
        if responses >= RESPONSES_AHEAD or len(ahead) >= FAILED_POLLS_AHEAD:
            break
    return "", responses
