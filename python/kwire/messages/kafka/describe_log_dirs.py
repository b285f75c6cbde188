"""DescribeLogDirs (key 35): the log directories of a broker and the size of their replicas (KIP-113, Kafka 1.0).

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
    3  top-level error code; before, clients without authorization got an empty response
    4  size and free space of the volumes (KIP-827, Kafka 3.3)
    5  cordoned directories (KIP-1066, Kafka 4.3)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class DescribeLogDirsRequest(Request["DescribeLogDirsResponse"], api_key=35, versions="0-5", flexible="2+"):
    """Requests the log directories of the receiving broker."""

    topics: nullable[array[DescribableLogDirTopic]]
    """The replicas to list; None for all. All directories are returned in any case."""


class DescribableLogDirTopic(Struct):
    """Partitions of a topic to list."""

    topic: string
    """The name of the topic that the partitions belong to."""
    partitions: array[int32]
    """The partition indexes; partitions without a replica on the broker are left out of the response."""


class DescribeLogDirsResponse(Message, api_key=35, versions="0-5", flexible="2+"):
    """The log directories of the broker."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    error_code: int16 = field(since=3, default=0, ignorable=True)
    """0, or 31 if the client is not authorized."""
    results: array[DescribeLogDirsResult]
    """One result for each directory in `log.dirs` of the broker."""


class DescribeLogDirsResult(Struct, key="log_dir"):
    """A log directory, its volume, and its replicas."""

    error_code: int16
    """0, or 56 if the directory is offline; its replicas are then not listed."""
    log_dir: string
    """The absolute path of the directory on the broker."""
    topics: array[DescribeLogDirsTopic]
    """The listed topics with replicas in the directory."""
    total_bytes: int64 = field(since=4, default=-1, ignorable=True)
    """The size of the volume in bytes; -1 if unknown."""
    usable_bytes: int64 = field(since=4, default=-1, ignorable=True)
    """The usable space of the volume in bytes; -1 if unknown."""
    is_cordoned: bool = field(since=5, default=False, ignorable=True)
    """True if the directory gets no new partitions (`cordoned.log.dirs`)."""


class DescribeLogDirsTopic(Struct, key="name"):
    """The replicas of a topic in a directory."""

    name: string
    """The name of the topic that the replicas belong to."""
    partitions: array[DescribeLogDirsPartition]
    """One entry for each replica."""


class DescribeLogDirsPartition(Struct, key="partition_index"):
    """A replica. While it moves between directories, both copies are listed."""

    partition_index: int32
    """The index of the partition within its topic."""
    partition_size: int64
    """The size of the log segments in bytes, without indexes and tiered storage."""
    offset_lag: int64
    """The lag in offsets behind the high watermark or, for a future replica, behind the current replica."""
    is_future_key: bool
    """True if this is the future replica of a move between directories, which replaces the current one once caught
    up."""
