"""API versions that brokers of vendors list, as public reports and sources show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.releases import release

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OPERATIONS", "VENDORS", "Vendor"]


@dataclass(frozen=True)
class Vendor:
    """The brokers of a vendor.

    Attributes:
        name: the name of the product.
        source: the origin of the versions.
        versions: the lowest and highest version by API key.
        unknown: API keys about which the source says nothing.
        handshake: the lowest and highest version of SaslHandshake.
    """

    name: str
    source: str
    versions: Mapping[int, tuple[int, int]]
    unknown: frozenset[int] = frozenset()

    @property
    def handshake(self) -> tuple[int, int]:
        return self.versions[17]


def _confluent() -> dict[int, tuple[int, int]]:
    """Return the versions of Kafka 4.0 with the lowest versions of 3.9, which the dump shows from key 26 to 35."""
    old, new = release("3.9").versions, release("4.0").versions
    merged = {key: (old.get(key, served)[0], served[1]) for key, served in new.items()}
    return merged | {10_000: (0, 4), 10_001: (0, 1)}


# Keys 4 to 7 are of controllers. What the report does not show, from key 26 on, is unknown.
_MSK_SERVERLESS = {
    0: (7, 9),
    1: (10, 12),
    2: (5, 6),
    3: (7, 11),
    8: (6, 8),
    9: (5, 7),
    10: (2, 3),
    11: (4, 7),
    12: (2, 4),
    13: (2, 4),
    14: (2, 5),
    15: (2, 5),
    16: (2, 4),
    17: (1, 1),
    18: (2, 3),
    19: (3, 7),
    20: (3, 6),
    22: (1, 4),
    23: (2, 4),
    24: (1, 3),
    36: (0, 2),
    46: (0, 0),
}
_EVENT_HUBS_2019 = {
    0: (3, 5),
    1: (4, 6),
    2: (0, 2),
    3: (0, 5),
    8: (0, 3),
    9: (0, 3),
    10: (0, 1),
    11: (0, 2),
    12: (0, 1),
    13: (0, 1),
    14: (0, 1),
    15: (0, 1),
    16: (0, 1),
    17: (0, 0),
    18: (0, 1),
    19: (0, 2),
    20: (0, 2),
    23: (0, 0),
}
_EVENT_HUBS = {
    **_EVENT_HUBS_2019,
    0: (0, 7),
    1: (4, 6),
    2: (0, 8),
    3: (0, 5),
    8: (0, 8),
    9: (0, 8),
    10: (0, 4),
    11: (0, 9),
    12: (0, 4),
    13: (0, 5),
    17: (0, 1),
    18: (0, 3),
    36: (0, 1),
}
_REDPANDA = {
    0: (0, 7),
    1: (4, 11),
    2: (0, 4),
    3: (0, 8),
    8: (1, 8),
    9: (1, 7),
    10: (0, 3),
    11: (0, 6),
    12: (0, 4),
    13: (0, 4),
    14: (0, 4),
    15: (0, 5),
    16: (0, 4),
    17: (0, 1),
    18: (0, 3),
    19: (0, 6),
    20: (0, 5),
    21: (0, 2),
    22: (0, 3),
    23: (0, 4),
    24: (0, 3),
    25: (0, 1),
    26: (0, 3),
    28: (0, 3),
    29: (0, 2),
    30: (0, 2),
    31: (0, 2),
    32: (0, 4),
    33: (0, 2),
    35: (0, 2),
    36: (0, 2),
    37: (0, 3),
    42: (0, 2),
    44: (0, 1),
    45: (0, 0),
    46: (0, 0),
    47: (0, 0),
    48: (0, 1),
    49: (0, 1),
    61: (0, 0),
    65: (0, 0),
    66: (0, 0),
}
_WARPSTREAM_KEYS = (
    *(0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 25, 26, 28, 29, 30, 31, 32, 33, 36, 37, 42),
    *(47, 60, 65, 66),
)

VENDORS = (
    Vendor("Confluent Cloud", "twmb/franz-go#1017, kroxylicious/kroxylicious#3760", _confluent()),
    Vendor("Amazon MSK", "Kafka 3.6 itself", release("3.6").versions),
    Vendor(
        "MSK Serverless",
        "tchiotludo/akhq#1113; kafka-ui#3331 (no DescribeLogDirs), topicctl#69 (no AlterPartitionReassignments)",
        _MSK_SERVERLESS,
        frozenset(range(26, 100)) - {35, 36, 45, 46},
    ),
    Vendor(
        "Event Hubs",
        "klife#13 and sarama#2470 up to key 13, azure-event-hubs-for-kafka#69 (2019) for older keys, franz-go#1022",
        _EVENT_HUBS,
        frozenset(range(21, 100)) - {36},
    ),
    Vendor("Event Hubs, 2019", "Azure/azure-event-hubs-for-kafka#69", _EVENT_HUBS_2019),
    Vendor("Redpanda", "src/v/kafka/server/handlers of redpanda-data/redpanda at 1c6cff34", _REDPANDA),
    Vendor(
        "AutoMQ",
        "Kafka 3.9 with keys of its own: ApiKeys.java of AutoMQ/automq",
        {**release("3.9", "broker").versions, **dict.fromkeys((*range(501, 520), 600, 601, 602), (0, 0))},
    ),
    Vendor(
        "WarpStream",
        "docs.warpstream.com/warpstream/reference/protocol-and-feature-support: APIs; their versions are those of 3.9",
        {key: release("3.9").versions[key] for key in _WARPSTREAM_KEYS},
    ),
    Vendor("Aiven, Strimzi", "Kafka 4.0 itself", release("4.0").versions),
)

OPERATIONS = {
    "`topics list`, `topics describe`": (3,),
    "`topics create`, `topics delete`": (19, 20),
    "`partitions add`": (37,),
    "`configs get`": (32,),
    "`configs set`": (44,),
    "`groups list`, `groups describe`": (10, 15, 16),
    "`groups lag`": (2, 9, 10),
    "`groups reset-offsets`": (2, 8, 9, 10),
    "`groups delete`": (10, 42),
    "`acls`": (29, 30, 31),
    "`quotas`": (48, 49),
    "`scram-users`": (50, 51),
    "`reassign`": (45, 46),
    "`log-dirs list`": (35,),
    "`offsets delete-records`": (21,),
    "`elections run`": (43,),
    "`quorum describe`": (55,),
    "`transactions list`": (66,),
}
"""API keys that each operation needs."""
