"""Partitions of keys: the results of Kafka's `Utils.murmur2` and `BuiltInPartitioner` (kafka-clients 4.4.0)."""

from __future__ import annotations

import pytest

from kwire import murmur2, partition_for_key
from tests.for_rows import for_rows


@for_rows(
    ("key", "hash_value", "of_7", "of_1000"),
    [
        ("", 275646681, 2, 681),
        ("30", 971027396, 3, 396),
        ("3231", -973932308, 3, 340),
        ("666f6f626172", -790332482, 0, 166),
        ("6f7264657273", -1029842276, 1, 372),
        ("612d6c6974746c652d6269742d6c6f6e672d737472696e67", -985981536, 1, 112),
        ("612d6c6974746c652d6269742d6c6f6e6765722d737472696e67", -1486304829, 0, 819),
        ("e697a5e69cace8aa9e", 1431860170, 6, 170),
        ("67066d", 1935279426, 3, 426),
        ("197a8255", 998437643, 0, 643),
        ("06655509ff", -302322622, 2, 26),
        ("a5a23a39f7be0b", 1779543000, 4, 0),
        ("64e17b61ec39a4128b1fe9c8b6baadb38d91e5952ecba48d73f54eddd45c0b", 1429824792, 4, 792),
    ],
)
def test_hash_and_partition_equal_kafkas(key: str, hash_value: int, of_7: int, of_1000: int) -> None:
    for data in (bytes.fromhex(key), bytearray.fromhex(key), memoryview(bytes.fromhex(key))):
        assert murmur2(data) == hash_value
        assert (partition_for_key(data, 7), partition_for_key(data, 1000)) == (of_7, of_1000)


def test_topic_without_partitions_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1 partition, found 0"):
        partition_for_key(b"key", 0)
