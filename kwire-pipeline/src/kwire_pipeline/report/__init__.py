"""HTML reports about what happened to a cluster.

    from kwire_pipeline.report import write_report

    write_report("kafka.html", gold="/data/kafka")

The input is the gold layer of the pipeline; `kwire_pipeline.report.local_pipeline` builds it from a capture.
Needs the extra `report`, and `spark` for captures.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from kwire_pipeline.report.summary import ClusterSummary

__all__ = ["write_report"]


def write_report(
    out: str | os.PathLike[str],
    *,
    gold: str | os.PathLike[str],
    since: datetime | None = None,
    until: datetime | None = None,
    now: datetime | None = None,
) -> list[tuple[str, ClusterSummary]]:
    """Write an HTML page about all clusters in a pipeline's folder.

    Args:
        out: the HTML file to write.
        gold: the folder or URI of a `kwire_pipeline.Pipeline` with an up-to-date gold layer.
        since: start of the window to report on, with a time zone; None for the first poll.
        until: end of the window, with a time zone; None for the last poll.
        now: the time of the report, with a time zone: the page says how old its data is, and warns if it is stale.

    Returns:
        The id and the summary of each cluster, in the order of the page: clusters with problems first.

    Raises:
        kwire_pipeline.report.history_reader.MissingGold: the folder has no gold layer.
    """
    from kwire.metadata.timestamps import microseconds
    from kwire_pipeline.report.history_reader import read_histories
    from kwire_pipeline.report.page import render_page
    from kwire_pipeline.report.summary import summarize

    histories = read_histories(os.fspath(gold), microseconds(since), microseconds(until))
    for history in histories:
        history.reported_at = microseconds(now)
    Path(out).write_text(render_page(histories), encoding="utf-8")
    return [(history.cluster_id, summarize(history)) for history in histories]
