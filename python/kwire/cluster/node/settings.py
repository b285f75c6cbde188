"""The settings of a node: `server.properties` with Kafka's names, overridden by command line options.

One table defines the name, parser, default, and meaning of each setting; errors and documentation derive from it. As in
Kafka, unknown names are not an error, because a file written for Kafka has many. They are reported in a log line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kwire.cluster.controller.feature_rules import SupportedFeature
from kwire.cluster.zookeeper.features import MAX_LEVEL
from kwire.cluster.zookeeper.protocol_version import ProtocolVersion
from kwire.cluster.zookeeper.store import check_path
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class SettingError(KwireError, ValueError):
    """A setting that is missing or has an invalid value."""

    def __init__(self, name: str, text: str, reason: str) -> None:
        super().__init__(name, text, reason)
        self.name = name
        self.text = text
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}={self.text}: {self.reason}"


def parse_boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("expected true or false")
    return text.lower() == "true"


def parse_integer(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of integers from `low` to `high`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError("expected an integer") from None
        if not low <= value <= high:
            raise ValueError(f"expected an integer from {low} to {high}")
        return value

    return parse


def parse_address(text: str) -> tuple[str, int]:
    """Parse `host:port` or `LISTENER://host:port`. The default host is 127.0.0.1; port 0 selects a free port."""
    match = re.fullmatch(r"(?:[A-Za-z0-9_]+://)?\[?([^\[\],]*?)\]?:([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65535:
        raise ValueError("expected one address, host:port or ADMIN://host:port")
    _check_host_name(match[1])
    return match[1] or "127.0.0.1", int(match[2])


def parse_advertised_address(text: str) -> tuple[str, int]:
    """Parse an address that others can connect to."""
    host, port = parse_address(text)
    if is_wildcard(host) or port == 0:
        raise ValueError("expected an address that others can connect to, not 0.0.0.0, ::, or port 0")
    return host, port


def parse_ensemble(text: str) -> str:
    """Check `host:port,host:port/chroot`. The default port is ZooKeeper's, 2181."""
    servers, _, chroot = text.partition("/")
    for server in servers.split(","):
        match = re.fullmatch(r"\s*(\[[0-9A-Fa-f:.]+\]|[^\s\[\]:]+)(?::([0-9]{1,5}))?\s*", server)
        if match is None or int(match[2] or 0) > 65535:
            raise ValueError("expected host:port,host:port/chroot")
        _check_host_name(match[1])
    if chroot:
        check_path(f"/{chroot}")
    return text


def _check_host_name(host: str) -> None:
    """Raise ValueError for a name that the resolver rejects."""
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError("invalid host name: expected 1 to 63 characters between dots") from None


def is_wildcard(host: str) -> bool:
    """Return whether `host` stands for all addresses of the machine, to which clients cannot connect."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def parse_features(text: str) -> Mapping[str, SupportedFeature]:
    """Parse `name:min-max,name:min-max:safe`: supported levels, and the level below which no downgrade goes."""
    features: dict[str, SupportedFeature] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        match = re.fullmatch(r"([^:,\s]+):([0-9]{1,5})-([0-9]{1,5})(?::([0-9]{1,5}))?", part)
        if match is None:
            raise ValueError(f"expected name:min-max or name:min-max:safe, found {part!r}")
        lowest, highest, safe = int(match[2]), int(match[3]), int(match[4] or 0)
        if not 1 <= lowest <= (safe or lowest) <= highest <= MAX_LEVEL:
            raise ValueError(f"{part!r}: expected 1 <= min <= safe <= max <= {MAX_LEVEL}")
        if match[1] in features:
            raise ValueError(f"feature {match[1]} is named twice")
        features[match[1]] = SupportedFeature(lowest, highest, safe)
    return MappingProxyType(features)


def setting(name: str, parse: Callable[[str], Any], default: Any = None) -> Any:
    """Declare a field with its name in `server.properties`."""
    metadata = {"name": name, "parse": parse}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """The settings of a node; times in milliseconds and sizes in bytes, as in `server.properties`."""

    id: int = setting("broker.id", parse_integer(0, 2**31 - 1), -1)
    """The id of the node, required; `node.id` is accepted too."""
    zookeeper: str = setting("zookeeper.connect", parse_ensemble, "")
    """The ensemble, `host:port,host:port/chroot`, required. A missing chroot is created."""
    listen: tuple[str, int] = setting("listeners", parse_address, ("127.0.0.1", 0))
    """The address to listen on."""
    advertised: tuple[str, int] | None = setting("advertised.listeners", parse_advertised_address)
    """The address that others connect to. The default is the listen address, with the name of the host in place of a
    wildcard address."""
    rack: str | None = setting("broker.rack", str)
    """The rack of the node, for spreading replicas."""
    zookeeper_session_timeout_ms: int = setting("zookeeper.session.timeout.ms", parse_integer(100, 2**31 - 1), 18_000)
    """Time without contact after which ZooKeeper ends the session, and the node counts as dead."""
    zookeeper_connection_timeout_ms: int = setting(
        "zookeeper.connection.timeout.ms", parse_integer(1, 2**31 - 1), 18_000
    )
    """Time to wait for ZooKeeper when the node starts."""
    supported_features: Mapping[str, SupportedFeature] = setting("supported.features", parse_features, {})
    """The features that the node supports (KIP-584), such as `group_coordinator:1-3,transaction_coordinator:1-4:2`. A
    third number is the lowest safe level: no update goes below it. Kafka has no such setting."""
    protocol_version: ProtocolVersion = setting(
        "inter.broker.protocol.version", ProtocolVersion.parse, ProtocolVersion((3, 9))
    )
    """The version of the protocol between nodes. It decides whether features are versioned."""
    migration_protocol_version: ProtocolVersion = setting(
        "migration.ibp.version", ProtocolVersion.parse, ProtocolVersion((2, 7))
    )
    """The protocol version from which features are versioned (KIP-584)."""
    num_partitions: int = setting("num.partitions", parse_integer(1, 2**31 - 1), 1)
    """Default partition count of new topics."""
    default_replication_factor: int = setting("default.replication.factor", parse_integer(1, 32767), 1)
    """Default replication factor of new topics."""
    auto_create_topics: bool = setting("auto.create.topics.enable", parse_boolean, True)
    """Whether TopicMetadata version 0 creates the unknown topics that it names."""
    unclean_leader_election: bool = setting("unclean.leader.election.enable", parse_boolean, False)
    """Whether a replica outside the ISR may become leader if no other replica is available."""
    strict_batches: bool = setting("admin.batch.strict", parse_boolean, False)
    """Whether batches follow the older draft, with the errors 1011 and 1012 (decision D9)."""
    controlled_shutdown: bool = setting("controlled.shutdown.enable", parse_boolean, True)
    """Whether leaders are moved away before the node stops."""
    controlled_shutdown_timeout_ms: int = setting("controller.socket.timeout.ms", parse_integer(1, 2**31 - 1), 30_000)
    """Time that a controlled shutdown may take."""
    request_bytes: int = setting("socket.request.max.bytes", parse_integer(1, 2**31 - 1), 100 * 1024 * 1024)
    """The largest request."""
    requests_in_flight: int = setting("max.in.flight.requests.per.connection", parse_integer(1, 100_000), 64)
    """Requests of one connection that are processed at a time; further requests are not read."""
    queued_requests: int = setting("queued.max.requests", parse_integer(1, 1_000_000), 500)
    """Requests in the queue of the controller; a further one is answered with 21."""
    connections: int = setting("max.connections", parse_integer(1, 2**31 - 1), 2048)
    """Open connections."""
    idle_ms: int = setting("connections.max.idle.ms", parse_integer(1, 2**31 - 1), 600_000)
    """Time after which a connection without traffic is closed."""
    slow_client_ms: int = setting("socket.slow.peer.timeout.ms", parse_integer(1, 2**31 - 1), 30_000)
    """Time for completing a frame, and for reading responses. Kafka has no such setting."""
    metrics: tuple[str, int] | None = setting("metrics.listener", parse_address)
    """The address to serve Prometheus metrics on; none by default. Kafka has no such setting."""
    unused: Mapping[str, str] = field(default_factory=dict)
    """Properties with unknown names."""

    @property
    def features_enabled(self) -> bool:
        """Whether the protocol version is recent enough for feature versioning."""
        return self.protocol_version >= self.migration_protocol_version.first

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> NodeSettings:
        """Parse properties with Kafka's names.

        Raises:
            SettingError: a value is invalid, or `broker.id` or `zookeeper.connect` is missing.
        """
        properties = dict(properties)
        if "node.id" in properties:
            properties.setdefault("broker.id", properties.pop("node.id"))
        values: dict[str, Any] = {}
        for each in fields(cls):
            name = each.metadata.get("name")
            if name in properties:
                text = properties.pop(name)
                try:
                    values[each.name] = each.metadata["parse"](text)
                except ValueError as error:
                    raise SettingError(name, text, str(error)) from None
        for required, name in (("id", "broker.id"), ("zookeeper", "zookeeper.connect")):
            if required not in values:
                raise SettingError(name, "", "a node requires this setting")
        return cls(**values, unused=properties)
