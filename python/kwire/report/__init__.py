"""A picture of what happened to a cluster: one HTML page out of gold, or out of a capture.

    from kwire.report import write_report

    write_report("kafka.html", gold="/data/kafka")

Rules of this package: `reading` adds up, `verdict` and `words` say it, `chart` and `page` show it, `captured` makes
gold of captures. Needs the extra ``report``; captures need ``spark`` too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from datetime import datetime

    from kwire.report.summary import Verdict

__all__ = ["write_report"]


def write_report(
    out: str | os.PathLike[str],
    *,
    gold: str | os.PathLike[str],
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[tuple[str, Verdict]]:
    """Write a page to ``out``; its clusters, those in trouble first, and the verdict on each.

    ``gold``: the folder of a `kwire.spark.Pipeline` whose gold is up to date. ``since``, ``until``: of what time to
    tell (with a zone), all of it for None. Raises `kwire.report.cluster_history.NoGold`.
    """
    from kwire.report.cluster_history import micros_of, read
    from kwire.report.page import page
    from kwire.report.summary import verdict

    stories = read(Path(gold), None if since is None else micros_of(since), None if until is None else micros_of(until))
    Path(out).write_text(page(stories), encoding="utf-8")
    return [(story.cluster_id, verdict(story)) for story in stories]
