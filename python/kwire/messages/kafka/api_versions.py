"""ApiVersions (key 18): which requests a node answers, in which versions; a client's first words on a connection.

A node that does not know the version asked for answers in version 0 with error 35, and since Kafka 2.4 (KIP-511) names
the range it does know: so a client may begin with its newest version. For the same reason the answer always travels
behind response header 0, whatever its version.

Versions:
    1  throttle time
    2  throttled clients are answered first, and have to wait by themselves (KIP-219)
    3  flexible; the client names its software (KIP-511); features of node and cluster (KIP-584)
    4  features may begin at level 0 (KAFKA-17011, Kafka 3.9)
    5  the client says whom it means to reach (KIP-1242, Kafka 4.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class ApiVersionsRequest(Request["ApiVersionsResponse"], api_key=18, versions="0-5", flexible="3+"):
    """Asks for the table of supported APIs; answered before authentication too."""

    client_software_name: string = field(since=3, default="", ignorable=True)
    """What speaks, e.g. ``kwire``, for the node's metrics. Letters, digits, ``-``, ``.``; anything else is error 42."""
    client_software_version: string = field(since=3, default="", ignorable=True)
    """The release of that software, spelled by the same rules; like the name it must not be empty."""
    cluster_id: nullable[string] = field(since=5, default=None, ignorable=True)
    """Of the cluster the client takes this node to be in; None at first contact. A node of another answers 129."""
    node_id: int32 = field(since=5, default=-1, ignorable=True)
    """Of the node the client means to reach; -1 at first contact. A stale address thus shows itself as error 129."""


class ApiVersionsResponse(Message, api_key=18, versions="0-5", flexible="3+", header_version=0):
    """The APIs of one node, and from version 3 the features of its cluster."""

    error_code: int16
    """0, 35 for a version the node does not know (this is then version 0), 42 for a malformed software name."""
    api_keys: array[ApiVersion]
    """One entry an API, in no fixed order; what is missing, the node does not answer at this listener."""
    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 2 the client itself has to wait."""
    supported_features: array[SupportedFeatureKey] = field(since=3, tag=0, default=(), ignorable=True)
    """What this node's software could do if the cluster agreed to (KIP-584), e.g. ``metadata.version`` 7 to 33."""
    finalized_features_epoch: int64 = field(since=3, tag=1, default=-1, ignorable=True)
    """Grows with every change of the finalized features, so the greatest is the newest; -1 when none are known."""
    finalized_features: array[FinalizedFeatureKey] = field(since=3, tag=2, default=(), ignorable=True)
    """What the whole cluster has agreed to (KIP-584); worth reading only when the epoch is not -1."""
    zk_migration_ready: bool = field(since=3, tag=3, default=False, ignorable=True)
    """Set by KRaft controllers of Kafka 3.4 to 3.9 that will take a cluster over from ZooKeeper (KIP-866)."""


class ApiVersion(Struct, key="api_key"):
    """The versions of one API; a client picks the highest that both sides know."""

    api_key: int16
    """Kafka's number for the API: 3 is Metadata, 18 is ApiVersions."""
    min_version: int16
    """The lowest version that is answered; Kafka 4 raised many of them (KIP-896)."""
    max_version: int16
    """The highest version that is answered, included."""


class SupportedFeatureKey(Struct, key="name"):
    """A feature that the node's software knows how to run."""

    name: string
    """Such as ``metadata.version`` or ``kraft.version``."""
    min_version: int16
    """The lowest level it can run at; 0, for "can be switched off", is told from version 4 on only."""
    max_version: int16
    """The highest level it can run at."""


class FinalizedFeatureKey(Struct, key="name"):
    """A feature that is in force for all brokers; the higher level comes first on the wire."""

    name: string
    """Named as among the supported features."""
    max_version_level: int16
    """The level in force: brokers may use what this level brought and nothing newer."""
    min_version_level: int16
    """The lowest level still in force; under KRaft the same as the highest."""
