"""ApiVersions with feature versions, as the draft of KIP-584 has it.

Kafka shipped the three tagged fields as 0, 1 and 2 and made the epoch int64. Whoever finds a key of 1000 or more in
the answer speaks to a server of this dialect.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, string


class ApiVersionsRequest(Request["ApiVersionsResponse"], api_key=18, versions="0-3", flexible="3+", dialect="kip4"):
    """Asks any broker which requests it understands. A broker that does not know the version answers in version 0."""

    client_software_name: string = field(since=3, default="", ignorable=True)
    """What the client is, for the broker's statistics (KIP-511)."""
    client_software_version: string = field(since=3, default="", ignorable=True)
    """Release of that software (KIP-511)."""


class ApiVersionsResponse(Message, api_key=18, versions="0-3", flexible="3+", dialect="kip4", header_version=0):
    """Which requests and features the broker has. Its header is version 0 always: the client knows nothing yet."""

    error_code: int16
    """0, or 35 when the broker does not know the version asked for and answers in version 0."""
    api_keys: array[ApiVersion]
    """The requests that are understood."""
    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """Milliseconds for which the broker held the answer back because of a quota; 0 for none."""
    supported_features: array[SupportedFeature] = field(since=3, tag=10000, default=(), ignorable=True)
    """What this broker's software can do, sent whether feature versioning is enabled or not."""
    finalized_features_epoch: int32 = field(since=3, tag=10001, default=-1, ignorable=True)
    """Grows with every change of the finalized features; -1 while feature versioning is not enabled.

    The draft gives no default. 0 is the epoch of a fresh cluster and must be written, hence -1 (decision D16).
    """
    finalized_features: array[FinalizedFeature] = field(since=3, tag=10002, default=(), ignorable=True)
    """What the cluster agreed on at that epoch; a client that has seen a later epoch ignores it."""


class ApiVersion(Struct, key="api_key"):
    """A request that the broker understands."""

    api_key: int16
    """Its number in request headers, such as 18 for ApiVersions."""
    min_version: int16
    """The oldest version of it that is understood."""
    max_version: int16
    """The newest version of it that is understood."""


class SupportedFeature(Struct, key="name"):
    """A feature that the broker's software has."""

    name: string
    """Such as ``group_coordinator``."""
    min_version: int16
    """The lowest version level at which it can work, at least 1."""
    max_version: int16
    """The highest version level at which it can work."""


class FinalizedFeature(Struct, key="name"):
    """A feature whose version levels the whole cluster has agreed on."""

    name: string
    """The name under which brokers support it."""
    max_version_level: int16
    """The level in force; it comes before the minimum, other than in ``SupportedFeature``."""
    min_version_level: int16
    """The lowest level that is still honoured, at least 1."""
