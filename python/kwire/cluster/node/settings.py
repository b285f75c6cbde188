"""What a node is told before it starts: ``server.properties`` under Kafka's own names, and options that stand above it.

Rules of this file: one table says each setting's name, how its text is read, its default and its meaning; everything
else (help, errors, the description that a node gives of itself) is made from it. A name that is not in the table is
kept in ``unused`` and told in a warning, as Kafka does, since a file written for Kafka has many.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from kwire.cluster.zookeeper.store import check_path
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class SettingError(KwireError, ValueError):
    """A setting that cannot be read. ``name``, ``text``, ``reason``."""

    def __init__(self, name: str, text: str, reason: str) -> None:
        super().__init__(name, text, reason)
        self.name = name
        self.text = text
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}={self.text}: {self.reason}"


def boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("it has to be true or false")
    return text.lower() == "true"


def number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError("it has to be a whole number") from None
        if not low <= value <= high:
            raise ValueError(f"it has to be between {low} and {high}")
        return value

    return read


def address(text: str) -> tuple[str, int]:
    """``host:port`` or ``LISTENER://host:port``; port 0 is a free one, and a host left out is 127.0.0.1."""
    match = re.fullmatch(r"(?:[A-Za-z0-9_]+://)?\[?([^\[\],]*?)\]?:([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65535:
        raise ValueError("it has to be one address, host:port or ADMIN://host:port")
    check_name(match[1])
    return match[1] or "127.0.0.1", int(match[2])


def reachable(text: str) -> tuple[str, int]:
    """An ``address`` that others can connect to."""
    host, port = address(text)
    if is_wildcard(host) or port == 0:
        raise ValueError("it has to be an address that others can connect to, with a port: not 0.0.0.0, :: or port 0")
    return host, port


def ensemble(text: str) -> str:
    """``host:port,host:port/chroot``; a port left out is ZooKeeper's own."""
    servers, _, chroot = text.partition("/")
    for server in servers.split(","):
        match = re.fullmatch(r"\s*(\[[0-9A-Fa-f:.]+\]|[^\s\[\]:]+)(?::([0-9]{1,5}))?\s*", server)
        if match is None or int(match[2] or 0) > 65535:
            raise ValueError("it has to be host:port,host:port/chroot")
        check_name(match[1])
    if chroot:
        check_path(f"/{chroot}")
    return text


def check_name(host: str) -> None:
    """ValueError for what the system would not even look up."""
    try:
        host.encode("idna")
    except UnicodeError:
        raise ValueError("no host can have this name: it has to have 1 to 63 letters between dots") from None


def is_wildcard(host: str) -> bool:
    """Whether it stands for all addresses of a machine: one can listen there, and nobody can connect to it."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def setting(name: str, read: Callable[[str], Any], default: Any = None) -> Any:
    """A field that ``server.properties`` knows as ``name``."""
    return field(default=default, metadata={"name": name, "read": read})


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """A node's settings. ``id``, ``zookeeper`` are needed; times in milliseconds, sizes in bytes, as in the file."""

    id: int = setting("broker.id", number(0, 2**31 - 1), -1)
    """The number of the node in the cluster; ``node.id`` is read too."""
    zookeeper: str = setting("zookeeper.connect", ensemble, "")
    """``host:port,host:port/chroot`` of the ensemble; a chroot that is missing is made."""
    listen: tuple[str, int] = setting("listeners", address, ("127.0.0.1", 0))
    """Where the admin protocol is served."""
    advertised: tuple[str, int] | None = setting("advertised.listeners", reachable)
    """What others are told to connect to; without it, where the node listens, or the host's name when that is on all
    addresses."""
    rack: str | None = setting("broker.rack", str)
    """Where it stands, for spreading replicas."""
    zookeeper_session_timeout_ms: int = setting("zookeeper.session.timeout.ms", number(100, 2**31 - 1), 18_000)
    """How long ZooKeeper waits for a silent node before it counts as dead."""
    zookeeper_connection_timeout_ms: int = setting("zookeeper.connection.timeout.ms", number(1, 2**31 - 1), 18_000)
    """How long a start waits for ZooKeeper."""
    num_partitions: int = setting("num.partitions", number(1, 2**31 - 1), 1)
    """Of topics that are made without saying how many."""
    default_replication_factor: int = setting("default.replication.factor", number(1, 32767), 1)
    """Of topics that are made without saying how many."""
    auto_create_topics: bool = setting("auto.create.topics.enable", boolean, True)
    """Whether TopicMetadata version 0 makes the topics that it names."""
    unclean_leader_election: bool = setting("unclean.leader.election.enable", boolean, False)
    """Whether a replica that is not in sync may lead when no other is left."""
    strict_batches: bool = setting("admin.batch.strict", boolean, False)
    """The older draft's rules for batches: 1011 and 1012 (decision D9)."""
    controlled_shutdown: bool = setting("controlled.shutdown.enable", boolean, True)
    """Whether leaders are moved away before the node stops."""
    controlled_shutdown_timeout_ms: int = setting("controller.socket.timeout.ms", number(1, 2**31 - 1), 30_000)
    """How long an orderly shutdown waits for the controller to move leaders."""
    request_bytes: int = setting("socket.request.max.bytes", number(1, 2**31 - 1), 100 * 1024 * 1024)
    """The largest request that is read."""
    requests_in_flight: int = setting("max.in.flight.requests.per.connection", number(1, 100_000), 64)
    """Requests of one connection that are being worked on; more are not read."""
    queued_requests: int = setting("queued.max.requests", number(1, 1_000_000), 500)
    """Requests that wait for the controller; one more is answered with 21."""
    connections: int = setting("max.connections", number(1, 2**31 - 1), 2048)
    """At one time."""
    idle_ms: int = setting("connections.max.idle.ms", number(1, 2**31 - 1), 600_000)
    """After which a connection without traffic is closed."""
    slow_peer_ms: int = setting("socket.slow.peer.timeout.ms", number(1, 2**31 - 1), 30_000)
    """For half a frame to be finished, and for answers to be read. No setting of Kafka's."""
    metrics: tuple[str, int] | None = setting("metrics.listener", address)
    """Where metrics are served for Prometheus; nowhere without it. No setting of Kafka's."""
    unused: Mapping[str, str] = field(default_factory=dict)
    """What was given and means nothing here."""

    @classmethod
    def read(cls, properties: Mapping[str, str], **options: Any) -> NodeSettings:
        """From texts by Kafka's names; ``options``, by field and already read, stand above them.

        Raises SettingError for a text that cannot be read, and for ``broker.id`` or ``zookeeper.connect`` missing.
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
                    values[each.name] = each.metadata["read"](text)
                except ValueError as error:
                    raise SettingError(name, text, str(error)) from None
        values |= {name: value for name, value in options.items() if value is not None}
        for needed, name in (("id", "broker.id"), ("zookeeper", "zookeeper.connect")):
            if needed not in values:
                raise SettingError(name, "", "a node cannot start without it")
        return cls(**values, unused=properties)


def parse_properties(text: str) -> dict[str, str]:
    """A file of Java's properties: ``key=value``, ``key: value``, ``key value``; comments; lines that go on.

    Of a key that is given twice the last counts, as in Java. Spaces after a value are dropped, as Kafka drops them.
    """
    properties = {}
    for line in logical_lines(text):
        match = re.fullmatch(r"((?:\\.|[^ \t\f=:\\])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
        assert match is not None, "every line has this form: a key may be empty, and a value too"
        properties[unescape(match[1])] = unescape(match[2]).rstrip(" \t\f")
    return properties


def logical_lines(text: str) -> Iterator[str]:
    """Lines without indentation, comments and blank ones; one that ends in a lone backslash goes on in the next."""
    begun: str | None = None
    for natural in re.split(r"\r\n|\r|\n", text):
        line = natural.lstrip(" \t\f")
        if begun is None and (not line or line[0] in "#!"):
            continue
        line = (begun or "") + line
        begun = None
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            begun = line[:-1]
        else:
            yield line
    if begun is not None:
        yield begun


def unescape(text: str) -> str:
    """Java's escapes; a backslash before any other character means that character, and one at the end nothing."""
    named = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
    plain = re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|(.?))",
        lambda match: chr(int(match[1], 16)) if match[1] else named.get(match[2], match[2]),
        text,
        flags=re.DOTALL,
    )
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # Java writes large characters as pairs


def write_properties(properties: Mapping[str, str]) -> str:
    """The text of a file that gives these back; ASCII, whatever they are."""
    return "".join(f"{escape(name)}={escape(value)}\n" for name, value in properties.items())


def escape(text: str) -> str:
    named = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    escaped = ""
    for character in text:
        if character in named:
            escaped += named[character]
        elif character in "\\=:#!":
            escaped += "\\" + character
        elif " " < character <= "~":
            escaped += character
        else:
            units = character.encode("utf-16-be", "surrogatepass")
            escaped += "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return escaped
