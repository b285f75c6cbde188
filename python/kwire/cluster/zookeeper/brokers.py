"""A broker's registration, and the cluster's id.

Rules of this file: versions 1 to 5 are read as Kafka 3.9's ``BrokerIdZNode`` does; the version decides which keys are
demanded and which are written. Source of the versions: the page "Kafka data structures in Zookeeper" (1 to 3),
Kafka 0.10.2 (4), KIP-584 (5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.zookeeper.json_object import (
    NO_UNKNOWN_KEYS,
    JsonObject,
    UnknownKeys,
    dump,
    json_of_objects,
    read_only,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BrokerEndpoint", "BrokerRegistration", "ClusterId", "SupportedVersionRange"]

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

LONGEST_HOST = 255
"""Characters, of a listener and a rack as well. A longer one is nobody's (RFC 1035), and might fit into no answer."""

# Kafka's own (EndPoint.scala): a name before "://" may be anything, brackets of an IPv6 address are no part of it.
_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class BrokerEndpoint(NamedTuple):
    """Where a broker listens. ``security_protocol``: one of Kafka's four; ``listener``: its name, in capitals."""

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


class SupportedVersionRange(NamedTuple):
    """The versions of a feature that a broker can do (KIP-584)."""

    min_version: int
    max_version: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """``/brokers/ids/<id>``, ephemeral.

    ``jmx_port``: -1 for none. ``timestamp``: of the start, milliseconds since 1970. ``features``: from version 5 on;
    ``rack``: from version 3 on.
    """

    endpoints: tuple[BrokerEndpoint, ...]
    jmx_port: int = -1
    rack: str | None = None
    features: Mapping[str, SupportedVersionRange] = field(default_factory=dict)
    timestamp: int | None = None
    version: int = 5
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/brokers/ids"

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", read_only(self.features))

    @staticmethod
    def path(broker_id: int) -> str:
        """Where it is."""
        return f"/brokers/ids/{broker_id:d}"

    @property
    def plaintext(self) -> BrokerEndpoint | None:
        """What the keys ``host`` and ``port`` say: the first endpoint without encryption or authentication."""
        return next((endpoint for endpoint in self.endpoints if endpoint.security_protocol == "PLAINTEXT"), None)

    def encode(self) -> bytes:
        """With the keys of its version."""
        values: dict[str, object] = {}
        features = None
        if self.version >= 5:
            features = json_of_objects(
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
        return dump(values, self.unknown if features is None else (("features", features), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/brokers/ids") -> BrokerRegistration:
        """Of version 1 or later. Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        version = node.integer("version")
        jmx_port = node.integer("jmx_port")
        if version < 1:
            raise node.fault("version", f"{version}: a broker's registration has version 1 or later")
        if version == 1:
            endpoints: tuple[BrokerEndpoint, ...] = (
                BrokerEndpoint("PLAINTEXT", node.text("host"), node.integer("port")),
            )
        else:
            node.drop("host", "port")
            protocols = _protocols(node)
            endpoints = tuple(_endpoint(node, text, protocols) for text in node.texts("endpoints"))
        rack = node.optional_text("rack")
        for name in (rack or "", *(name for endpoint in endpoints for name in (endpoint.host, endpoint.listener))):
            if len(name) > LONGEST_HOST:
                raise node.fault(
                    "", f"a host, listener or rack has at most {LONGEST_HOST} characters: {name[:60]!r}..."
                )
        features = {}
        if (told := node.take("features", None)) is not None:
            supported = JsonObject(told, path, "features")
            for name in supported.keys():  # noqa: SIM118 - reading takes the keys out
                one = supported.object(name)
                features[name] = SupportedVersionRange(
                    one.integer("min_version"), one.integer("max_version"), one.unknown()
                )
        return cls(endpoints, jmx_port, rack, features, node.timestamp(), version, node.unknown())


def _protocols(node: JsonObject) -> dict[str, str]:
    """By listener name; without the map, the protocols are the listeners' names."""
    if "listener_security_protocol_map" not in node:
        return {protocol: protocol for protocol in SECURITY_PROTOCOLS}
    protocols = node.text_map("listener_security_protocol_map")
    for listener, protocol in protocols.items():
        if protocol.upper() not in SECURITY_PROTOCOLS:
            raise node.fault(f"listener_security_protocol_map.{listener}", f"{protocol!r} is no security protocol")
    return {listener: protocol.upper() for listener, protocol in protocols.items()}


def _endpoint(node: JsonObject, text: str, protocols: Mapping[str, str]) -> BrokerEndpoint:
    match = _ENDPOINT.fullmatch(text)
    if match is None or not -0x8000_0000 <= int(match[3]) <= 0x7FFF_FFFF:
        raise node.fault("endpoints", f"{text[:100]!r} has not the form LISTENER://host:port")
    listener = match[1].upper()
    if listener not in protocols:
        raise node.fault("endpoints", f"no security protocol is known for listener {listener!r}")
    return BrokerEndpoint(listener, match[2], int(match[3]), protocols[listener])


@dataclass(frozen=True, slots=True)
class ClusterId:
    """``/cluster/id``: 22 characters of base64, made by the first broker of a cluster."""

    id: str
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Where it is."""
        return "/cluster/id"

    def encode(self) -> bytes:
        """With the version as a string, as Kafka writes it."""
        return dump({"version": "1", "id": self.id}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/cluster/id") -> ClusterId:
        """Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        return cls(node.text("id"), node.unknown())
