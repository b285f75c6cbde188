"""DescribeLogDirs (key 35): the disks of one broker and what lies on them, byte by byte (KIP-113, Kafka 1.0).

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
    3  an error for the answer as a whole; before, a caller without permission got an empty one
    4  size and free space of the volumes (KIP-827, Kafka 3.3)
    5  directories closed to new partitions (KIP-1066, Kafka 4.3)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class DescribeLogDirsRequest(Request["DescribeLogDirsResponse"], api_key=35, versions="0-5", flexible="2+"):
    """Asks the broker that receives it about its own directories."""

    topics: nullable[array[DescribableLogDirTopic]]
    """The replicas to look for; None for all. The directories themselves are always told."""


class DescribableLogDirTopic(Struct):
    """Some partitions of one topic."""

    topic: string
    """The topic to which the partitions belong."""
    partitions: array[int32]
    """The numbers of the partitions; those without a replica here are left out of the answer."""


class DescribeLogDirsResponse(Message, api_key=35, versions="0-5", flexible="2+"):
    """The directories of the broker."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    error_code: int16 = field(since=3, default=0, ignorable=True)
    """0, or 31 when the caller is not permitted to ask."""
    results: array[DescribeLogDirsResult]
    """One entry a directory of the broker's ``log.dirs``."""


class DescribeLogDirsResult(Struct, key="log_dir"):
    """One directory, the volume it is on, and the replicas in it."""

    error_code: int16
    """0, or 56 when the disk has failed: its replicas are offline then and not listed."""
    log_dir: string
    """The directory as an absolute path on the broker's machine."""
    topics: array[DescribeLogDirsTopic]
    """The topics with replicas in it, among those asked for."""
    total_bytes: int64 = field(since=4, default=-1, ignorable=True)
    """The size of the volume in bytes, whoever uses it; -1 when not known."""
    usable_bytes: int64 = field(since=4, default=-1, ignorable=True)
    """What the broker may still fill of the volume, in bytes; -1 when not known."""
    is_cordoned: bool = field(since=5, default=False, ignorable=True)
    """Whether it gets no new partitions (``cordoned.log.dirs``), for instance before it is taken out."""


class DescribeLogDirsTopic(Struct, key="name"):
    """The replicas of one topic in a directory."""

    name: string
    """The topic to which the replicas belong."""
    partitions: array[DescribeLogDirsPartition]
    """One entry a replica."""


class DescribeLogDirsPartition(Struct, key="partition_index"):
    """One replica on disk; while it moves between directories there are two of them."""

    partition_index: int32
    """The number of the partition within its topic."""
    partition_size: int64
    """How much disk its segments take, in bytes; indexes are not counted, nor what lies in tiered storage."""
    offset_lag: int64
    """How many offsets it is behind: a replica behind the high watermark, a future one behind the present one."""
    is_future_key: bool
    """Whether this is the growing copy of a move between directories, which will replace the other when it is level."""
