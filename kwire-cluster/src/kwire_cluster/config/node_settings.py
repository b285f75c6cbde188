"""The settings of a node: `server.properties` with Kafka's names, overridden by command line options.

As in Kafka, unknown names are not an error, because a file written for Kafka has many. They are reported in a log line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kwire._util.secret import HIDDEN, Secret
from kwire_cluster.config.principal_mapping import DEFAULT_RULES, PrincipalRule
from kwire_cluster.config.setting import Level, SettingError, setting, settings_of
from kwire_cluster.config.value_types import (
    ADDRESS,
    ADVERTISED_ADDRESS,
    BOOLEAN,
    CREDENTIALS,
    ENSEMBLE,
    FEATURES,
    LISTENER_PROTOCOLS,
    MECHANISMS,
    PRINCIPAL_RULES,
    PRINCIPALS,
    PROTOCOL_VERSION,
    SASL_MECHANISMS,
    SECRET,
    TEXT,
    integer,
    matching,
    one_of,
)
from kwire_cluster.zookeeper.brokers import SECURITY_PROTOCOLS
from kwire_cluster.zookeeper.embedded_server import DEFAULT_PARTITIONS
from kwire_cluster.zookeeper.protocol_version import ProtocolVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cluster.config.setting import Setting
    from kwire_cluster.config.value_types import FeatureSupport


CLIENT_LISTENER = "ADMIN"
"""The name, in settings, of the listener for clients if its address has none. It registers under its protocol."""
BROKER_LISTENER = "BROKER"
"""The name of the listener for other nodes."""
ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
"""Kafka's name for the authorizer of access control lists in ZooKeeper."""
AUTHORIZER = matching(f"nothing or {ACL_AUTHORIZER}", f"({re.escape(ACL_AUTHORIZER)})?")

# Minimums. With a lower value, no client could take the value back through a node: nothing else limits these settings.
MIN_REQUEST_BYTES = 64 * 1024
"""An Admin request with two arguments of the largest size, 32,767 bytes."""
MIN_BROKER_REQUEST_BYTES = 1024 * 1024
"""The metadata of a topic with 10,000 partitions, as many as a request may create by default, have 500 KB."""
MIN_QUEUED_BYTES = 1024 * 1024
"""Some Admin requests at a time; each counts four times while it is processed."""
MIN_REQUEST_ITEMS = 100
"""The arguments of an Admin request are items: `config` with some dozens of settings."""
MIN_CLIENT_MS = 10_000
"""Milliseconds in which a client must send its next request, or complete one; chosen, not measured."""
MIN_SESSION_MS = 1_000
"""A connection may authenticate once a second, as in Kafka, so a shorter session could not be extended."""
MIN_SEND_MS = 1_000
"""Milliseconds for a broker to apply UpdateMetadata; chosen, not measured."""
MIN_CONFIG_CHANGE_MS = 60_000
"""The longest session timeout of a ZooKeeper with default settings is 40 s. A node that was disconnected for so long
still finds the notifications that it missed."""

_OF_LISTENER = re.compile(
    r"listener\.name\.[a-z0-9_]+\.(?:scram-sha-(?:256|512)\.)?(ssl\..+|sasl\.jaas\.config|plain\.sasl\.jaas\.config)"
)
"""Settings with the name of a listener, and of a mechanism. A node has the same security on all its listeners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """The settings of a node; times in milliseconds and sizes in bytes, as in `server.properties`."""

    id: int = setting("broker.id", integer(0, 2**31 - 1), -1, level=Level.BROKER)
    """The id of the node, required; `node.id` is accepted too."""
    zookeeper: str = setting("zookeeper.connect", ENSEMBLE, "", level=Level.BROKER)
    """The ensemble, `host:port,host:port/chroot`, required. A missing chroot is created."""
    listen: tuple[str, int] = setting("listeners", ADDRESS, ("127.0.0.1", 0), level=Level.BROKER)
    """The address to listen on."""
    advertised: tuple[str, int] | None = setting("advertised.listeners", ADVERTISED_ADDRESS, level=Level.BROKER)
    """The address that others connect to. The default is the listen address, with the name of the host in place of a
    wildcard address."""
    broker_listen: tuple[str, int] | None = setting("inter.broker.listener", ADDRESS, level=Level.BROKER)
    """A second address to listen on, for other nodes only, which clients cannot exhaust. Nodes without one use the
    address of the clients. Kafka names one of its `listeners` instead."""
    rack: str | None = setting("broker.rack", TEXT, level=Level.BROKER)
    """The rack of the node, for spreading replicas."""
    zookeeper_session_timeout_ms: int = setting("zookeeper.session.timeout.ms", integer(100, 2**31 - 1), 18_000)
    """Time without contact after which ZooKeeper ends the session, and the node counts as dead."""
    zookeeper_connection_timeout_ms: int = setting("zookeeper.connection.timeout.ms", integer(1, 2**31 - 1), 18_000)
    """Time to wait for ZooKeeper when the node starts."""
    zookeeper_credentials: Secret | None = setting("zookeeper.digest.credentials", CREDENTIALS, is_secret=True)
    """User name and password, `user:password`, by which the node authenticates to ZooKeeper. All nodes of a cluster
    need the same ones. Kafka has a JAAS file instead."""
    zookeeper_set_acl: bool = setting("zookeeper.set.acl", BOOLEAN, False)
    """True if only the nodes can change the znodes that they create; everybody can read them."""
    supported_features: Mapping[str, FeatureSupport] = setting("supported.features", FEATURES, {})
    """The features that the node supports (KIP-584), such as `group_coordinator:1-3,transaction_coordinator:1-4:2`. A
    third number is the lowest safe level: no update goes below it. Kafka has no such setting."""
    protocol_version: ProtocolVersion = setting(
        "inter.broker.protocol.version", PROTOCOL_VERSION, ProtocolVersion((3, 9))
    )
    """The version of the protocol between nodes. It decides whether features are versioned, and the form of
    config change notifications: text before 0.9, version 1 before 0.10.1, then version 2."""
    migration_protocol_version: ProtocolVersion = setting(
        "migration.ibp.version", PROTOCOL_VERSION, ProtocolVersion((2, 7))
    )
    """The protocol version from which features are versioned (KIP-584)."""
    num_partitions: int = setting("num.partitions", integer(1, 2**31 - 1), 1, is_live=True)
    """Default partition count of new topics."""
    default_replication_factor: int = setting("default.replication.factor", integer(1, 32767), 1, is_live=True)
    """Default replication factor of new topics."""
    auto_create_topics: bool = setting("auto.create.topics.enable", BOOLEAN, True, is_live=True)
    """True if TopicMetadata version 0 creates the unknown topics that it names."""
    unclean_leader_election: bool = setting("unclean.leader.election.enable", BOOLEAN, False, is_live=True)
    """True if a replica outside the ISR can become leader when no other replica is available."""
    strict_batches: bool = setting("admin.batch.strict", BOOLEAN, False, is_live=True)
    """True if batches follow the older draft, with the errors 1011 and 1012."""
    controlled_shutdown: bool = setting("controlled.shutdown.enable", BOOLEAN, True, is_live=True)
    """True if leaders are moved away before the node stops."""
    controlled_shutdown_timeout_ms: int = setting(
        "controller.socket.timeout.ms", integer(1, 2**31 - 1), 30_000, is_live=True
    )
    """Time that a controlled shutdown may take."""
    request_bytes: int = setting(
        "socket.request.max.bytes", integer(MIN_REQUEST_BYTES, 2**31 - 1), 4 * 1024 * 1024, is_live=True
    )
    """The largest request, other than UpdateMetadata."""
    broker_request_bytes: int = setting(
        "inter.broker.request.max.bytes", integer(MIN_BROKER_REQUEST_BYTES, 2**31 - 1), 24 * 1024 * 1024, is_live=True
    )
    """The largest UpdateMetadata request. One partition takes about 50 bytes. Kafka has no such setting."""
    request_timeout_ms: int = setting("admin.request.timeout.ms", integer(1, 2**31 - 1), 15_000, is_live=True)
    """Time after which a command is answered with REQUEST_TIMED_OUT if ZooKeeper cannot be reached. Kafka has no such
    setting."""
    receive_buffer_bytes: int = setting("socket.receive.buffer.bytes", integer(1, 2**31 - 1), 100 * 1024)
    """Bytes that the system may keep for each connection before the node reads them. The default of Linux is up to
    32 MB, with which one client can take the memory that the system has for all connections of the machine."""
    max_request_items: int = setting(
        "admin.request.max.items", integer(MIN_REQUEST_ITEMS, 2**31 - 1), 10_000, is_live=True
    )
    """Topics that one request may list; a request with more closes its connection. Kafka has no such setting."""
    max_request_partitions: int = setting("admin.request.max.partitions", integer(1, 2**31 - 1), 10_000, is_live=True)
    """Partitions that one request may create; more are answered with 1002. Kafka has no such setting."""
    max_partitions: int = setting(
        "admin.cluster.max.partitions", integer(1, 2**31 - 1), DEFAULT_PARTITIONS, is_live=True
    )
    """Partitions that the cluster may have. ZooKeeper needs about 4 KB of heap for each. Kafka has no such setting."""
    requests_in_flight: int = setting("max.in.flight.requests.per.connection", integer(1, 100_000), 64, is_live=True)
    """Requests of one connection that are processed at a time; further requests are not read."""
    queued_requests: int = setting("queued.max.requests", integer(1, 1_000_000), 500)
    """Requests in the queue of the controller; a further one is answered with 21, and so is one of an address that
    fills half of the queue."""
    queued_bytes: int = setting(
        "queued.max.request.bytes", integer(MIN_QUEUED_BYTES, 2**63 - 1), 32 * 1024 * 1024, is_live=True
    )
    """Bytes of requests and unsent responses of all connections of a listener. Beyond it, the connections that occupy
    most are closed."""
    connections: int = setting("max.connections", integer(1, 2**31 - 1), 2048, is_live=True)
    """Open connections of a listener. Some more are accepted for administration: they may authenticate, and send
    ClusterMetadata and Admin requests, so that this setting can be changed again."""
    connections_per_address: int = setting("max.connections.per.ip", integer(1, 2**31 - 1), 1024, is_live=True)
    """Open connections of one IP address to a listener; some more for administration."""
    idle_ms: int = setting("connections.max.idle.ms", integer(MIN_CLIENT_MS, 2**31 - 1), 600_000, is_live=True)
    """Time after which a connection without traffic is closed."""
    max_reauth_ms: int = setting(
        "connections.max.reauth.ms", integer(MIN_SESSION_MS, 2**31 - 1, or_zero=True), 0, is_live=True
    )
    """Time after which a client of SASL must have authenticated again (KIP-368), or its connection is closed at its
    next request; 0 for no limit."""
    slow_client_ms: int = setting(
        "socket.slow.peer.timeout.ms", integer(MIN_CLIENT_MS, 2**31 - 1), 30_000, is_live=True
    )
    """Time for completing a frame, and for reading responses. Kafka has no such setting."""
    metrics: tuple[str, int] | None = setting("metrics.listener", ADDRESS, level=Level.BROKER)
    """The address to serve Prometheus metrics on; none by default. Kafka has no such setting."""
    retry_backoff_ms: int = setting("controller.retry.backoff.ms", integer(1, 2**31 - 1), 100, is_live=True)
    """Pause before the controller repeats a failed step, such as sending metadata or reading a znode; doubled after
    each attempt. Kafka has no such setting."""
    retry_backoff_max_ms: int = setting("controller.retry.backoff.max.ms", integer(1, 2**31 - 1), 5_000, is_live=True)
    """Maximum pause between two attempts of the controller. Kafka has no such setting."""
    send_timeout_ms: int = setting("controller.send.timeout.ms", integer(MIN_SEND_MS, 2**31 - 1), 10_000, is_live=True)
    """Maximum time to wait for a broker's response to UpdateMetadata. Kafka has no such setting."""
    config_change_retention_ms: int = setting(
        "config.change.retention.ms", integer(MIN_CONFIG_CHANGE_MS, 2**31 - 1), 900_000, is_live=True
    )
    """Time that config change notifications stay in ZooKeeper. Kafka keeps them for 15 minutes, without a setting."""
    authorizer: str = setting("authorizer.class.name", AUTHORIZER, "")
    """The authorizer: none by default, or `kafka.security.authorizer.AclAuthorizer`, which follows the
    access control lists in ZooKeeper."""
    super_users: frozenset[str] = setting("super.users", PRINCIPALS, frozenset())
    """Principals that may do everything, such as `User:admin;User:CN=node-1,O=example`. The nodes' own principals must
    be among them, or have the permission ClusterAction."""
    allow_if_no_acl: bool = setting("allow.everyone.if.no.acl.found", BOOLEAN, False)
    """True if everybody can use a resource without access control lists."""
    tools_folders: str | None = setting("tools.folders", TEXT, level=Level.BROKER)
    """The folders with the files that tools may read and write, separated by commas; none by default. Kafka has no such
    setting."""
    log_file: str | None = setting("log.file", TEXT, level=Level.BROKER)
    """The file for the events of the node; stderr by default. Kafka's file is a matter of Log4j."""
    log_file_bytes: int = setting("log.file.max.bytes", integer(1024, 2**63 - 1), 64 * 1024 * 1024)
    """The size at which the log file gets the suffix `.1`, and a new one begins."""
    log_file_count: int = setting("log.file.count", integer(1, 1000), 4)
    """Older log files that are kept."""
    listener_protocols: Mapping[str, str] = setting(
        "listener.security.protocol.map", LISTENER_PROTOCOLS, {}, level=Level.BROKER
    )
    """The protocol of each listener: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT`, or `SASL_SSL`. The listeners are named in
    their addresses, as in `SASL_SSL://0.0.0.0:9092`. Names that are protocols need no entry. Without a name, the
    listeners are `ADMIN` and `BROKER`, and the default of these is PLAINTEXT."""
    inter_broker_protocol: str | None = setting("security.inter.broker.protocol", one_of(*SECURITY_PROTOCOLS))
    """The protocol between nodes. It must equal the protocol of the listener for nodes, which is also the default."""
    allow_anonymous: bool = setting("listener.allow.anonymous", BOOLEAN, False, level=Level.BROKER)
    """True if a listener without authentication can have an address that other machines can reach. Kafka has no such
    setting."""
    ssl_keystore_location: str | None = setting("ssl.keystore.location", TEXT, level=Level.BROKER)
    """The file with the certificate of the node and its private key, in PEM, PKCS12, or JKS."""
    ssl_keystore_type: str | None = setting("ssl.keystore.type", TEXT, level=Level.BROKER)
    """The type of the file. The content decides how it is read."""
    ssl_keystore_password: Secret | None = setting("ssl.keystore.password", SECRET, level=Level.BROKER, is_secret=True)
    """The password of the file."""
    ssl_key_password: Secret | None = setting("ssl.key.password", SECRET, level=Level.BROKER, is_secret=True)
    """The password of the private key."""
    ssl_truststore_location: str | None = setting("ssl.truststore.location", TEXT, level=Level.BROKER)
    """The file with the certificates that are trusted in clients and in other nodes."""
    ssl_truststore_type: str | None = setting("ssl.truststore.type", TEXT, level=Level.BROKER)
    """The type of the file. The content decides how it is read."""
    ssl_truststore_password: Secret | None = setting(
        "ssl.truststore.password", SECRET, level=Level.BROKER, is_secret=True
    )
    """The password of the file."""
    ssl_client_auth: str = setting("ssl.client.auth", one_of("none", "requested", "required"), "none")
    """True if clients with TLS must have a certificate. Their principal is its subject, such as `User:CN=alice,O=x`."""
    ssl_principal_rules: tuple[PrincipalRule, ...] = setting(
        "ssl.principal.mapping.rules", PRINCIPAL_RULES, DEFAULT_RULES
    )
    """Rules that map the subject of a certificate to the name of a principal; the first match counts (KIP-371). The
    connection of a client without a matching rule is closed."""
    ssl_identification: str | None = setting("ssl.endpoint.identification.algorithm", TEXT)
    """`https`, the default: the certificates of other nodes must have their host name. Empty: they need not."""
    sasl_mechanisms: tuple[str, ...] = setting("sasl.enabled.mechanisms", SASL_MECHANISMS, ())
    """The mechanisms of listeners with SASL. Credentials of SCRAM are in ZooKeeper, `/config/users`."""
    sasl_inter_broker_mechanism: str | None = setting("sasl.mechanism.inter.broker.protocol", one_of(*MECHANISMS))
    """The mechanism by which the node authenticates to other nodes. The default is the first enabled one."""
    sasl_jaas: Secret | None = setting("sasl.jaas.config", SECRET, level=Level.BROKER, is_secret=True)
    """A login module: user name and password of the node for other nodes, and, for PLAIN, `user_alice="..."` with the
    password of each user. Names such as `listener.name.admin.scram-sha-512.sasl.jaas.config` are accepted too."""
    sasl_plain_jaas: Secret | None = setting("plain.sasl.jaas.config", SECRET, level=Level.BROKER, is_secret=True)
    """The login module with the users of PLAIN, if `sasl.jaas.config` has another one. Kafka's name is
    `listener.name.admin.plain.sasl.jaas.config`, which is accepted too."""
    failed_authentication_delay_ms: int = setting(
        "connection.failed.authentication.delay.ms", integer(0, 10_000), 100, is_live=True
    )
    """Time until a failed authentication is answered and the connection is closed."""
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The properties with known names, as written, without secrets."""
    unused: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The properties with unknown names."""

    @property
    def features_enabled(self) -> bool:
        """True if the protocol version is recent enough for feature versioning."""
        return self.protocol_version >= self.migration_protocol_version.first

    @property
    def tool_folders(self) -> tuple[Path, ...]:
        """The folders of `tools.folders`."""
        names = (name.strip() for name in (self.tools_folders or "").split(","))
        return tuple(Path(name) for name in names if name)

    @property
    def client_listener(self) -> str:
        """The name of the listener for clients."""
        return self._listener_name("listeners", CLIENT_LISTENER)

    @property
    def broker_listener(self) -> str:
        """The name of the listener for nodes."""
        return self._listener_name("inter.broker.listener", BROKER_LISTENER)

    def _listener_name(self, setting_name: str, default: str) -> str:
        name, has_name, _ = self.given.get(setting_name, "").partition("://")
        return name.strip().upper() if has_name else default

    def protocol_of(self, setting_name: str, listener: str) -> str:
        """Return the security protocol of a listener.

        Args:
            setting_name: the setting that has its address.
            listener: its name.

        Raises:
            SettingError: the protocol is not known.
        """
        if listener in self.listener_protocols:
            return self.listener_protocols[listener]
        if listener in SECURITY_PROTOCOLS:
            return listener
        if listener in {CLIENT_LISTENER, BROKER_LISTENER}:
            return "PLAINTEXT"
        reason = f"listener.security.protocol.map has no protocol for the listener {listener}"
        raise SettingError(setting_name, self.given.get(setting_name, listener), reason)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> NodeSettings:
        """Parse properties with Kafka's names.

        Raises:
            SettingError: a value is invalid, or `broker.id` or `zookeeper.connect` is missing.
        """
        properties = _without_listener_names(properties)
        if "node.id" in properties:
            properties.setdefault("broker.id", properties.pop("node.id"))
        declared = node_settings()
        texts = {name: text for name, text in properties.items() if name in declared}
        values = {declared[name].attribute: declared[name].parse(text) for name, text in texts.items()}
        given = {name: HIDDEN if declared[name].is_secret else text for name, text in texts.items()}
        for name in ("broker.id", "zookeeper.connect"):
            if name not in given:
                raise SettingError(name, "", "a node requires this setting")
        if values.get("zookeeper_set_acl") and "zookeeper_credentials" not in values:
            reason = "only a node with zookeeper.digest.credentials can keep others from changing its znodes"
            raise SettingError("zookeeper.set.acl", "true", reason)
        unused = {name: text for name, text in properties.items() if name not in declared}
        return cls(**values, given=given, unused=unused)


def is_secret_property(name: str) -> bool:
    """Return whether a property of `server.properties` has a secret, also with the name of a listener."""
    declared = node_settings()
    [name] = _without_listener_names({name: ""})
    return name in declared and declared[name].is_secret


def _without_listener_names(properties: Mapping[str, str]) -> dict[str, str]:
    """Return properties with the general name of each. As in Kafka, one for a listener overrides the general one."""
    general: dict[str, str] = {}
    of_listeners: dict[str, str] = {}
    for name, text in properties.items():
        match = _OF_LISTENER.fullmatch(name)
        if match is None:
            general[name] = text
        elif of_listeners.setdefault(match[1], text) != text:
            raise SettingError(name, HIDDEN, "listeners with different settings of security are not supported")
    return general | of_listeners


@cache
def node_settings() -> Mapping[str, Setting]:
    """Return the settings of a node, by name."""
    return settings_of(NodeSettings)
