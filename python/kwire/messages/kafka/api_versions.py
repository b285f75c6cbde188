"""ApiVersions (key 18): the APIs of a node and their versions; the first request on a connection.

A node that does not support the requested version responds in version 0 with error 35 and, since Kafka 2.4 (KIP-511),
with the range it supports. A client can therefore start with its newest version. For the same reason the response
always has response header version 0.

Versions:
    1  throttle time
    2  throttled responses are sent at once, and the client must wait (KIP-219)
    3  flexible; name of the client software (KIP-511); features of node and cluster (KIP-584)
    4  features can start at level 0 (KAFKA-17011, Kafka 3.9)
    5  the client names the node it wants to reach (KIP-1242, Kafka 4.4)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class ApiVersionsRequest(Request["ApiVersionsResponse"], api_key=18, versions="0-5", flexible="3+"):
    """Requests the supported APIs. Allowed before authentication."""

    client_software_name: string = field(since=3, default="", ignorable=True)
    """The name of the client software, for example `kwire`, for metrics of the node. Letters, digits, `-`, and `.` are
    allowed; error 42 otherwise."""
    client_software_version: string = field(since=3, default="", ignorable=True)
    """The version of the client software, with the same rules as the name. Must not be empty."""
    cluster_id: nullable[string] = field(since=5, default=None, ignorable=True)
    """The cluster that the client expects, None at first contact. A node of another cluster responds with error 129."""
    node_id: int32 = field(since=5, default=-1, ignorable=True)
    """The node that the client expects, -1 at first contact. Another node responds with error 129."""


class ApiVersionsResponse(Message, api_key=18, versions="0-5", flexible="3+", header_version=0):
    """The APIs of a node and, since version 3, the features of its cluster."""

    error_code: int16
    """0; 35 unsupported version (the response then has version 0); 42 invalid software name or version."""
    api_keys: array[ApiVersion]
    """The supported APIs, in no particular order. The listener does not serve APIs that are missing."""
    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 2, the client
    must wait instead of the broker."""
    supported_features: array[SupportedFeatureKey] = field(since=3, tag=0, default=(), ignorable=True)
    """The features that the software of the node supports (KIP-584), for example `metadata.version` 7 to 33."""
    finalized_features_epoch: int64 = field(since=3, tag=1, default=-1, ignorable=True)
    """The epoch of the finalized features, which increases with every change; -1 if unknown."""
    finalized_features: array[FinalizedFeatureKey] = field(since=3, tag=2, default=(), ignorable=True)
    """The features that the cluster has finalized (KIP-584); valid only if the epoch is not -1."""
    zk_migration_ready: bool = field(since=3, tag=3, default=False, ignorable=True)
    """Set by KRaft controllers of Kafka 3.4 to 3.9 that are ready to migrate a cluster from ZooKeeper (KIP-866)."""


class ApiVersion(Struct, key="api_key"):
    """The supported versions of an API. Clients use the highest version that both sides support."""

    api_key: int16
    """The number of the API: 3 is Metadata, 18 is ApiVersions."""
    min_version: int16
    """The lowest supported version. Kafka 4 raised many of them (KIP-896)."""
    max_version: int16
    """The highest supported version, inclusive."""


class SupportedFeatureKey(Struct, key="name"):
    """A feature that the software of the node supports."""

    name: string
    """The feature name, for example `metadata.version` or `kraft.version`."""
    min_version: int16
    """The lowest supported level. Level 0, disabled, is only sent since version 4."""
    max_version: int16
    """The highest supported level."""


class FinalizedFeatureKey(Struct, key="name"):
    """A feature that is finalized for the whole cluster."""

    name: string
    """The feature name, for example `metadata.version`."""
    max_version_level: int16
    """The finalized level: brokers use what it allows and nothing newer."""
    min_version_level: int16
    """The lowest finalized level; under KRaft equal to the highest."""
