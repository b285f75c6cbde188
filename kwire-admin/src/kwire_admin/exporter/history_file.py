"""The ends of logs over time in a file, so that lags in seconds continue after a restart of the exporter.

One file for each cluster has the samples of the topics that groups read. It is replaced every SAVE_INTERVAL_S and at
the end of the exporter, and read once the id of the cluster is known. Nothing in it is trusted: what has no valid form,
and samples of another topic of the same name or of a log that is shorter now, are left out. A file is at most MAX_BYTES
long; topics beyond it begin without samples.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from kwire._util.atomic_file import replace_file
from kwire_admin.exporter.topic_record import SavedHistory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from kwire_admin.exporter.observed_cluster import ObservedCluster
    from kwire_admin.exporter.topic_record import MonitoredTopic

__all__ = ["SAVE_INTERVAL_S", "HistoryFile", "HistorySaver", "saved_histories"]

log = logging.getLogger("kwire_admin.exporter")

SAVE_INTERVAL_S = 300.0
"""Seconds between two writes. Chosen: samples that are lost after a crash add as much to the error of a lag."""
MAX_BYTES = 64 << 20
"""Maximum length of a file in bytes. 2,000 topics of 20 partitions with two samples each take 0.7 MB."""
MAX_OFFSET = (1 << 63) - 1


class HistoryFile:
    """The file of a cluster in a folder; other files of the folder are not touched."""

    def __init__(self, folder: Path, cluster_id: str) -> None:
        self.path = folder / f"{quote(cluster_id, safe='')}.json"

    def read(self) -> dict[str, SavedHistory]:
        """Return the samples by topic; none without a valid file."""
        try:
            if self.path.stat().st_size > MAX_BYTES:
                raise ValueError("it is too long")
            topics = json.loads(self.path.read_bytes())["topics"]
            return {name: saved for name, row in topics.items() if (saved := _checked(row)) is not None}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            log.warning("cannot read the history %s: %s", self.path, error)
            return {}

    def write(self, topics: Mapping[str, SavedHistory]) -> None:
        """Replace the file. A failure is logged: the exporter goes on without it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, '{"topics": {' + ",\n".join(_rows(topics)) + "}}\n")
        except OSError as error:
            log.warning("cannot write the history %s: %s", self.path, error)


class HistorySaver:
    """The history of a cluster in a folder: read once the id of the cluster is known, and written from then on.

    Args:
        state: the cluster.
        folder: the folder.
    """

    def __init__(self, state: ObservedCluster, folder: Path) -> None:
        self._state, self._folder = state, folder
        self._file: HistoryFile | None = None
        self._due = 0.0

    def load(self) -> None:
        """Read the file, once the cluster is known."""
        metadata = self._state.metadata
        if self._file is None and metadata is not None:
            self._file = HistoryFile(self._folder, metadata.cluster_id or "")
            self._state.saved = self._file.read()
            self._due = time.monotonic() + SAVE_INTERVAL_S

    async def save_if_due(self) -> None:
        """Write the file in a thread, if the last time is long ago."""
        if self._file is not None and time.monotonic() >= self._due:
            self._due = time.monotonic() + SAVE_INTERVAL_S
            await asyncio.to_thread(self._file.write, self._histories())

    def save(self) -> None:
        """Write the file, if the cluster was ever known."""
        if self._file is not None:
            self._file.write(self._histories())

    def _histories(self) -> dict[str, SavedHistory]:
        # What was not taken yet is still known: the cluster may have been unreachable since the start.
        return self._state.saved | saved_histories(self._state.topics.records)


def saved_histories(topics: Mapping[str, MonitoredTopic]) -> dict[str, SavedHistory]:
    """Return the samples of topics, by name."""
    return {
        name: SavedHistory(str(topic.metadata.topic_id), list(topic.indexes), topic.history.samples)
        for name, topic in topics.items()
        if not topic.history.is_empty
    }


def _rows(topics: Mapping[str, SavedHistory]) -> Iterator[str]:
    left = MAX_BYTES - 100
    for name, saved in topics.items():
        row = f"{json.dumps(name)}: {json.dumps(saved)}"
        left -= len(row) + 2
        if left < 0:
            log.warning("the history is longer than %d MB: it lacks topics from %s on", MAX_BYTES >> 20, name)
            return
        yield row


def _checked(row: Any) -> SavedHistory | None:
    """Return a row if it has the form of samples: times and ends that ascend."""
    topic_id, indexes, samples = row
    if not isinstance(topic_id, str) or not samples or any(type(index) is not int for index in indexes):
        return None
    before: tuple[float, list[int]] = (0.0, [-1] * len(indexes))
    for since, at, ends in samples:
        is_ordered = before[0] <= since <= at and len(ends) == len(indexes)
        if not is_ordered or any(
            type(end) is not int or not old <= end <= MAX_OFFSET for old, end in zip(before[1], ends, strict=True)
        ):
            return None
        before = at, ends
    return SavedHistory(topic_id, indexes, [(float(since), float(at), ends) for since, at, ends in samples])
