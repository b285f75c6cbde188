"""What a server told of itself: its dialect, the versions it answers, whether it is of a KRaft cluster.

Rules of this file: everything follows from one ApiVersions response. The highest version that both sides know is the one
to speak; nothing is assumed of an API that the response does not name.
"""

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

FIRST_KEY_OF_KIP4 = 1000
"""Keys that Kafka never gave out: who answers one speaks KIP-4's dialect."""
DESCRIBE_QUORUM = 55
"""Answered at a broker's listener under KRaft only (KIP-595): 4.4.0 names it, 3.9.1 with ZooKeeper does not."""
METADATA_VERSION = "metadata.version"


class NegotiatedVersions:
    """``versions``: lowest and highest of each API key that is answered. ``response``: the whole of what was told."""

    __slots__ = ("dialect", "endpoint", "kraft", "response", "versions")

    def __init__(self, endpoint: Endpoint, response: ApiVersionsResponse) -> None:
        self.endpoint = endpoint
        self.response = response
        self.versions: Mapping[int, tuple[int, int]] = {
            api.api_key: (api.min_version, api.max_version) for api in response.api_keys
        }
        self.dialect: Dialect = "kip4" if any(key >= FIRST_KEY_OF_KIP4 for key in self.versions) else "kafka"
        self.kraft = self.dialect == "kafka" and (
            DESCRIBE_QUORUM in self.versions
            or any(feature.name == METADATA_VERSION for feature in response.finalized_features)
        )

    def version_of(self, cls: type[Message]) -> int:
        """The highest version of a request that both sides know. Raises NoCommonVersion."""
        theirs = self.versions.get(cls.api_key)
        if theirs is not None and self.dialect in describe(cls).dialects:
            highest = min(theirs[1], cls.versions.highest)
            if highest >= theirs[0] and highest in cls.versions:
                return highest
        raise NoCommonVersion(self.endpoint, cls.__name__, str(cls.versions), theirs)
