"""The log directories of brokers: their volumes, and the sizes of their replicas by topic (DescribeLogDirs)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.metadata.diff import keyed_changes
from kwire_pipeline.silver.inputs.silver_input import SilverInput
from kwire_pipeline.tables import CHANGE, REPORTED, TOPIC, Column, Table

if TYPE_CHECKING:
    from kwire_pipeline.silver.inputs.silver_input import AddRow

DESCRIBE_LOG_DIRS = 35

_LOG_DIR = Column("log_dir", "string", "the path of the directory on the broker")

LOG_DIRS = Table(
    "log_dirs",
    "The log directories of a broker.",
    (
        *REPORTED,
        _LOG_DIR,
        CHANGE,
        Column("error_code", "int", "0; 56 if the directory is offline"),
        Column("total_bytes", "bigint", "size of its volume; -1 if unknown (before Kafka 3.3)", "bytes"),
        Column("usable_bytes", "bigint", "usable space of its volume; -1 if unknown (before Kafka 3.3)", "bytes"),
        Column("is_cordoned", "boolean", "whether it gets no new partitions"),
    ),
)

TOPIC_SIZES = Table(
    "topic_sizes",
    "The replicas of a topic in a log directory.",
    (
        *REPORTED,
        _LOG_DIR,
        TOPIC,
        CHANGE,
        Column("replicas", "int", "number of replicas, without future ones", "replicas"),
        Column("bytes", "bigint", "size of their log segments", "bytes"),
        Column("future_replicas", "int", "replicas that are moving to this directory", "replicas"),
        Column("future_bytes", "bigint", "size of their log segments", "bytes"),
    ),
)


class _LogDir(NamedTuple):
    error_code: int
    total_bytes: int
    usable_bytes: int
    is_cordoned: bool


class _TopicSize(NamedTuple):
    replicas: int
    bytes: int
    future_replicas: int
    future_bytes: int


class LogDirsState:
    """The log directories that one broker has reported."""

    def __init__(self, add: AddRow) -> None:
        self._add = add
        self._log_dirs: dict[str, _LogDir] = {}
        self._sizes: dict[tuple[str, str], _TopicSize] = {}

    def apply(self, at: int, message: Any) -> None:
        if message.error_code != 0 or not message.results:  # before version 3, an empty list means no permission
            return
        log_dirs = {
            result.log_dir: _LogDir(result.error_code, result.total_bytes, result.usable_bytes, result.is_cordoned)
            for result in message.results
        }
        for path, old, new in keyed_changes(self._log_dirs, log_dirs):
            if new is not None:
                self._add(LOG_DIRS.name, at, path, "set", *new)
            elif old is not None:
                self._add(LOG_DIRS.name, at, path, "gone", *old)
        sizes = {
            (result.log_dir, topic.name): _size(topic.partitions)
            for result in message.results
            for topic in result.topics
        }
        for key, before, after in keyed_changes(self._sizes, sizes):
            if after is not None:
                self._add(TOPIC_SIZES.name, at, *key, "set", *after)
            elif before is not None:
                self._add(TOPIC_SIZES.name, at, *key, "gone", *before)
        self._log_dirs, self._sizes = log_dirs, sizes

    def remove_topic(self, at: int, topic: str) -> None:
        """Do nothing: the files of a deleted topic are there until the broker deletes them."""


def _size(replicas: Any) -> _TopicSize:
    sizes = [replica.partition_size for replica in replicas if not replica.is_future_key]
    future = [replica.partition_size for replica in replicas if replica.is_future_key]
    return _TopicSize(len(sizes), sum(sizes), len(future), sum(future))


INPUT = SilverInput(
    api_keys=frozenset({DESCRIBE_LOG_DIRS}),
    tables=(LOG_DIRS, TOPIC_SIZES),
    state=LogDirsState,
    resumed=frozenset({LOG_DIRS.name, TOPIC_SIZES.name}),
)
