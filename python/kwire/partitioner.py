"""The partition of a keyed record, as Kafka's producer and its clients in other languages choose it."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.codec import BytesLike

__all__ = ["murmur2", "partition_for_key"]

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFF_FFFF


def murmur2(data: BytesLike) -> int:
    """Return the 32-bit MurmurHash2 of bytes, signed as in Java (`org.apache.kafka.common.utils.Utils.murmur2`)."""
    whole = len(data) - len(data) % 4
    value = _SEED ^ len(data)
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        value = value * _MULTIPLIER & _MASK ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    value ^= value >> 15
    return value - (value >> 31 << 32)


def partition_for_key(key: BytesLike, partitions: int) -> int:
    """Return the partition of a key in a topic (`BuiltInPartitioner.partitionForKey`).

    Records without a key have no fixed partition: producers fill one partition after another (KIP-480, KIP-794).

    Args:
        key: the encoded key.
        partitions: the number of partitions of the topic.

    Raises:
        ValueError: the topic has no partitions.
    """
    if partitions < 1:
        raise ValueError(f"expected at least 1 partition, found {partitions}")
    return (murmur2(key) & 0x7FFF_FFFF) % partitions
