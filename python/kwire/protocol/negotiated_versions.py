"""The API versions, the dialect, and the kind of cluster that an ApiVersions response reports."""

from __future__ import annotations

from types import MappingProxyType

from kwire._util.light_typing import TYPE_CHECKING
from kwire.declare.introspect import describe
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    from kwire.declare import Message
    from kwire.messages.kafka.api_versions import ApiVersionsResponse
    from kwire.protocol.endpoint import Endpoint

    Dialect: TypeAlias = Literal["kafka", "kip4"]

CLUSTER_METADATA = 1000
KIP4_VERSIONS: Mapping[int, tuple[int, int]] = MappingProxyType(
    {CLUSTER_METADATA: (0, 1), 1001: (0, 1), 1002: (0, 1), 1003: (0, 0), 1004: (0, 0), 1005: (0, 0), 1006: (0, 0)}
)
"""The versions of each API key that every node of the KIP-4 dialect serves.

Kafka never assigned these keys, but vendors choose keys of their own: AutoMQ from 501 on, Confluent from 10000 on. So
only a server that lists all of them in these versions, or more of them, is taken for a node.
"""
FETCH = 1
"""Every broker of Kafka serves it, and no node does: nodes have no records."""
DESCRIBE_QUORUM = 55
"""Served by broker listeners under KRaft only (KIP-595): 4.4.0 lists it, 3.9.1 with ZooKeeper does not."""
METADATA_VERSION = "metadata.version"


class NegotiatedVersions:
    """The content of a broker's ApiVersions response, with keys, versions, and features that kwire does not know.

    Args:
        endpoint: the broker.
        response: the whole response.
        dialect: the dialect that the caller requires; None for the dialect in the response.

    Attributes:
        endpoint: the broker.
        response: the whole response.
        versions: the lowest and highest version of each API key that the broker serves.
        dialect: `kafka` or `kip4`: as required, else `kip4` for a response that only a node sends.
        kraft: true if the broker belongs to a KRaft cluster.
    """

    __slots__ = ("dialect", "endpoint", "kraft", "response", "versions")

    def __init__(self, endpoint: Endpoint, response: ApiVersionsResponse, dialect: Dialect | None = None) -> None:
        self.endpoint = endpoint
        self.response = response
        self.versions: Mapping[int, tuple[int, int]] = {
            api.api_key: (api.min_version, api.max_version) for api in response.api_keys
        }
        self.dialect: Dialect = dialect or ("kip4" if _is_node(self.versions) else "kafka")
        self.kraft = self.dialect == "kafka" and (
            DESCRIBE_QUORUM in self.versions
            or any(feature.name == METADATA_VERSION for feature in response.finalized_features)
        )

    def version_of(self, cls: type[Message]) -> int:
        """Return the highest version of a request that broker and client support.

        Raises:
            NoCommonVersion: no version is supported by both sides.
        """
        served = self.versions.get(cls.api_key)
        # A caller may require a dialect that the broker certainly does not have: every node lists ClusterMetadata.
        is_spoken = self.dialect == "kafka" or CLUSTER_METADATA in self.versions
        if served is not None and is_spoken and self.dialect in describe(cls).dialects:
            highest = min(served[1], cls.versions.highest)
            if highest >= served[0] and highest in cls.versions:
                return highest
        raise NoCommonVersion(self.endpoint, cls.__name__, str(cls.versions), served)


def _is_node(versions: Mapping[int, tuple[int, int]]) -> bool:
    """Return whether only a node of the KIP-4 dialect lists these versions."""

    def has(key: int, lowest: int, highest: int) -> bool:
        served = versions.get(key)
        return served is not None and served[0] <= lowest and highest <= served[1]

    return FETCH not in versions and all(has(key, *expected) for key, expected in KIP4_VERSIONS.items())
