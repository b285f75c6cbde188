"""The API versions, the dialect, and the kind of cluster that an ApiVersions response reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.declare.introspect import describe
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    from kwire.declare import Message
    from kwire.messages.kafka.api_versions import ApiVersionsResponse
    from kwire.protocol.endpoint import Endpoint

    Dialect: TypeAlias = Literal["kafka", "kip4"]

__all__ = ["NegotiatedVersions"]

FIRST_KIP4_KEY = 1000
"""Kafka never assigned API keys from here on. A server that serves one speaks the KIP-4 dialect."""
DESCRIBE_QUORUM = 55
"""Served by broker listeners under KRaft only (KIP-595): 4.4.0 lists it, 3.9.1 with ZooKeeper does not."""
METADATA_VERSION = "metadata.version"


class NegotiatedVersions:
    """The content of a broker's ApiVersions response.

    Attributes:
        endpoint: the broker.
        response: the whole response.
        versions: the lowest and highest version of each API key that the broker serves.
        dialect: `kafka` or `kip4`.
        kraft: true if the broker belongs to a KRaft cluster.
    """

    __slots__ = ("dialect", "endpoint", "kraft", "response", "versions")

    def __init__(self, endpoint: Endpoint, response: ApiVersionsResponse) -> None:
        self.endpoint = endpoint
        self.response = response
        self.versions: Mapping[int, tuple[int, int]] = {
            api.api_key: (api.min_version, api.max_version) for api in response.api_keys
        }
        self.dialect: Dialect = "kip4" if any(key >= FIRST_KIP4_KEY for key in self.versions) else "kafka"
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
        if served is not None and self.dialect in describe(cls).dialects:
            highest = min(served[1], cls.versions.highest)
            if highest >= served[0] and highest in cls.versions:
                return highest
        raise NoCommonVersion(self.endpoint, cls.__name__, str(cls.versions), served)
