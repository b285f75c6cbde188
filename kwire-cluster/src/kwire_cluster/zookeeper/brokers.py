"""Znodes of broker registrations and of the cluster id.

Versions 1 to 5 are read as in Kafka 3.9 (`BrokerIdZNode`); the version determines the required and written keys.
Sources: "Kafka data structures in Zookeeper" for versions 1 to 3, Kafka 0.10.2 for 4, KIP-584 for 5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.zookeeper.json_object import (
    NO_UNKNOWN_KEYS,
    JsonObject,
    UnknownKeys,
    encode_json,
    encode_objects,
    freeze,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

MAX_FEATURE_VERSION = 0x7FFF
MAX_HOST_LENGTH = 255
"""Maximum number of characters of a host (RFC 1035), listener, and rack: longer names might not fit into responses."""

# As in Kafka's EndPoint.scala: any listener name, and an IPv6 address without its brackets.
_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class RegisteredEndpoint(NamedTuple):
    """An endpoint of a broker: the listener name in capitals and one of Kafka's four security protocols."""

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


class SupportedVersionRange(NamedTuple):
    """The versions of a feature that a broker supports (KIP-584)."""

    min_version: int
    max_version: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """`/brokers/ids/<id>`, ephemeral: a live broker.

    Attributes:
        endpoints: the listeners of the broker.
        jmx_port: the JMX port, -1 without one.
        rack: the rack; from version 3 on.
        features: the supported features; from version 5 on.
        timestamp: start time in milliseconds since 1970.
        version: version of the format.
        unknown: unknown keys.
    """

    endpoints: tuple[RegisteredEndpoint, ...]
    jmx_port: int = -1
    rack: str | None = None
    features: Mapping[str, SupportedVersionRange] = field(default_factory=dict)
    timestamp: int | None = None
    version: int = 5
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/brokers/ids"

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", freeze(self.features))

    @staticmethod
    def path(broker_id: int) -> str:
        """Return the path."""
        return f"/brokers/ids/{broker_id:d}"

    @property
    def plaintext(self) -> RegisteredEndpoint | None:
        """The first endpoint without encryption and authentication, written into the keys `host` and `port`."""
        return next((endpoint for endpoint in self.endpoints if endpoint.security_protocol == "PLAINTEXT"), None)

    def encode(self) -> bytes:
        """Encode the keys of the version."""
        values: dict[str, object] = {}
        features = None
        if self.version >= 5:
            features = encode_objects(
                {
                    name: ({"min_version": one.min_version, "max_version": one.max_version}, one.unknown)
                    for name, one in self.features.items()
                }
            )
        if self.version >= 4:
            values["listener_security_protocol_map"] = {
                endpoint.listener: endpoint.security_protocol for endpoint in self.endpoints
            }
        if self.version >= 2:
            values["endpoints"] = [str(endpoint) for endpoint in self.endpoints]
        if self.version >= 3 and self.rack is not None:
            values["rack"] = self.rack
        values["jmx_port"] = self.jmx_port
        values["port"] = self.plaintext.port if self.plaintext else -1
        values["host"] = self.plaintext.host if self.plaintext else None
        values["version"] = self.version
        if self.timestamp is not None:
            values["timestamp"] = str(self.timestamp)
        return encode_json(values, self.unknown if features is None else (("features", features), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/brokers/ids") -> BrokerRegistration:
        """Decode version 1 or later, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        version = document.integer("version")
        jmx_port = document.integer("jmx_port")
        if version < 1:
            raise document.error("version", f"expected 1 or later, found {version}")
        # Later versions repeat the first endpoint in host and port, for readers of version 1.
        if version == 1:
            endpoints: tuple[RegisteredEndpoint, ...] = (
                RegisteredEndpoint("PLAINTEXT", document.string("host"), document.integer("port")),
            )
        else:
            document.ignore("host", "port")
            protocols = _protocols(document)
            endpoints = tuple(_endpoint(document, string, protocols) for string in document.strings("endpoints"))
        rack = document.optional_string("rack")
        # Metadata responses carry these names to every client, so one registration must not make them unusable.
        for name in (rack or "", *(name for endpoint in endpoints for name in (endpoint.host, endpoint.listener))):
            if len(name) > MAX_HOST_LENGTH:
                raise document.error(
                    "", f"a host, listener, or rack has at most {MAX_HOST_LENGTH} characters: {name[:60]!r}..."
                )
        features = {}
        if (value := document.take("features", None)) is not None:
            supported = JsonObject(value, path, "features")
            for name in supported.names():
                one = supported.object(name)
                low, high = one.integer("min_version"), one.integer("max_version")
                if not 1 <= low <= high <= MAX_FEATURE_VERSION:
                    raise document.error(
                        f"features.{name}",
                        f"expected 1 <= min_version <= max_version <= {MAX_FEATURE_VERSION}, found {low} and {high}",
                    )
                features[name] = SupportedVersionRange(low, high, one.unknown())
        return cls(endpoints, jmx_port, rack, features, document.timestamp(), version, document.unknown())


def _protocols(document: JsonObject) -> dict[str, str]:
    """Return the security protocol of each listener. Without a map, listeners are named after their protocol."""
    if "listener_security_protocol_map" not in document:
        return {protocol: protocol for protocol in SECURITY_PROTOCOLS}
    protocols = document.string_map("listener_security_protocol_map")
    for listener, protocol in protocols.items():
        if protocol.upper() not in SECURITY_PROTOCOLS:
            raise document.error(
                f"listener_security_protocol_map.{listener}", f"unknown security protocol {protocol!r}"
            )
    return {listener: protocol.upper() for listener, protocol in protocols.items()}


def _endpoint(document: JsonObject, string: str, protocols: Mapping[str, str]) -> RegisteredEndpoint:
    match = _ENDPOINT.fullmatch(string)
    if match is None or not -0x8000_0000 <= int(match[3]) <= 0x7FFF_FFFF:
        raise document.error("endpoints", f"expected LISTENER://host:port, found {string[:100]!r}")
    listener = match[1].upper()
    if listener not in protocols:
        raise document.error("endpoints", f"listener {listener!r} has no security protocol")
    return RegisteredEndpoint(listener, match[2], int(match[3]), protocols[listener])


@dataclass(frozen=True, slots=True)
class ClusterId:
    """`/cluster/id`: 22 base64 characters, generated by the first broker of a cluster."""

    id: str
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Return the path."""
        return "/cluster/id"

    def encode(self) -> bytes:
        """Encode with the version as a string, as Kafka does."""
        return encode_json({"version": "1", "id": self.id}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/cluster/id") -> ClusterId:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        return cls(document.string("id"), document.unknown())
