"""Types of settings: what a text must look like, and the value that it stands for.

Surrounding blanks are ignored, as in Kafka's `ConfigDef`.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire._util.secret import Secret
from kwire_cluster.config.principal_mapping import parse_rules
from kwire_cluster.zookeeper.brokers import SECURITY_PROTOCOLS
from kwire_cluster.zookeeper.connection import check_hosts
from kwire_cluster.zookeeper.features import MAX_LEVEL
from kwire_cluster.zookeeper.protocol_version import ProtocolVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""The SASL mechanisms of nodes."""

_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
# The syntax of Java's Double.parseDouble, without hexadecimal numbers.
_DOUBLE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)


class ValueType(NamedTuple):
    """The type of a setting.

    Attributes:
        expected: the valid texts, as in "expected an integer from 1 to 10".
        convert: returns the value of a text without surrounding blanks, or raises ValueError. An error without a text
            means that the text is not what is expected.
    """

    expected: str
    convert: Callable[[str], Any]

    def parse(self, text: str) -> Any:
        """Return the value of a text.

        Raises:
            ValueError: the text is invalid; the error says what is expected.
        """
        try:
            return self.convert(text.strip())
        except ValueError as error:
            raise ValueError(str(error) or f"expected {self.expected}") from None


class FeatureSupport(NamedTuple):
    """The levels of a feature that a node supports.

    Attributes:
        min_version: the lowest level, at least 1.
        max_version: the highest level.
        lowest_safe: the level below which no update goes, even if it allows downgrades; 0 if there is none.
    """

    min_version: int
    max_version: int
    lowest_safe: int = 0


def _text_that(expected: str, accepts: Callable[[str], object]) -> ValueType:
    """Return the type of texts for which `accepts` is true."""

    def convert(text: str) -> str:
        if not accepts(text):
            raise ValueError
        return text

    return ValueType(expected, convert)


def integer(low: int, high: int, *, or_zero: bool = False) -> ValueType:
    """Return the type of integers from `low` to `high`, and 0 if that has a meaning of its own."""

    def convert(text: str) -> int:
        if _INTEGER.fullmatch(text) is None or not (low <= int(text) <= high or (or_zero and int(text) == 0)):
            raise ValueError
        return int(text)

    return ValueType(f"{'0 or ' if or_zero else ''}an integer from {low} to {high}", convert)


def one_of(*values: str) -> ValueType:
    """Return the type of these texts."""
    return _text_that("one of " + ", ".join(values), lambda text: text in values)


def list_of(*values: str) -> ValueType:
    """Return the type of lists of these texts."""
    return _text_that(
        "a list of " + ", ".join(values), lambda text: all(one.strip() in values for one in text.split(","))
    )


def matching(expected: str, pattern: str) -> ValueType:
    """Return the type of texts that match a pattern."""
    return _text_that(expected, re.compile(pattern, re.ASCII).fullmatch)


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError
    return text.lower() == "true"


def _address(text: str) -> tuple[str, int]:
    """Parse `host:port` or `LISTENER://host:port`. The default host is 127.0.0.1; port 0 selects a free port."""
    match = re.fullmatch(r"(?:[A-Za-z0-9_]+://)?\[?([^\[\],]*?)\]?:([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65535:
        raise ValueError
    _check_host_name(match[1])
    return match[1] or "127.0.0.1", int(match[2])


def _advertised_address(text: str) -> tuple[str, int]:
    host, port = ADDRESS.parse(text)
    if is_wildcard(host) or port == 0:
        raise ValueError
    return host, port


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


def _features(text: str) -> Mapping[str, FeatureSupport]:
    features: dict[str, FeatureSupport] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        match = re.fullmatch(r"([^:,\s]+):([0-9]{1,5})-([0-9]{1,5})(?::([0-9]{1,5}))?", part)
        if match is None:
            raise ValueError(f"expected name:min-max or name:min-max:safe, found {part!r}")
        lowest, highest, safe = int(match[2]), int(match[3]), int(match[4] or 0)
        if not 1 <= lowest <= (safe or lowest) <= highest <= MAX_LEVEL:
            raise ValueError(f"{part!r}: expected 1 <= min <= safe <= max <= {MAX_LEVEL}")
        if match[1] in features:
            raise ValueError(f"feature {match[1]} is named twice")
        features[match[1]] = FeatureSupport(lowest, highest, safe)
    return MappingProxyType(features)


def _listener_protocols(text: str) -> Mapping[str, str]:
    protocols: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, protocol = (side.strip().upper() for side in part.partition(":"))
        if not name or name in protocols or protocol not in SECURITY_PROTOCOLS:
            raise ValueError(f"expected LISTENER:PROTOCOL with one of {', '.join(SECURITY_PROTOCOLS)}, found {part!r}")
        protocols[name] = protocol
    return MappingProxyType(protocols)


def _list_of(values: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def convert(text: str) -> tuple[str, ...]:
        parts = tuple(filter(None, map(str.strip, text.split(","))))
        if not set(parts) <= set(values):
            raise ValueError
        return parts

    return convert


def _credentials(text: str) -> Secret:
    user, _, password = text.partition(":")
    if not user or not password:
        raise ValueError
    return Secret(text)


def _principals(text: str) -> frozenset[str]:
    principals = frozenset(filter(None, map(str.strip, text.split(";"))))
    for principal in principals:
        kind, _, name = principal.partition(":")
        if not kind or not name:
            raise ValueError(f"expected <type>:<name>, found {principal!r}")
    return principals


def _ratio(text: str) -> float:
    if _DOUBLE.fullmatch(text) is None or not 0 <= float(text.rstrip("dDfF")) <= 1:
        raise ValueError
    return float(text.rstrip("dDfF"))


BOOLEAN = ValueType("true or false", _boolean)
TEXT = ValueType("any text", str)
RATIO = ValueType("a number from 0 to 1", _ratio)
ADDRESS = ValueType("one address, host:port or ADMIN://host:port", _address)
ADVERTISED_ADDRESS = ValueType("an address that others can connect to, not 0.0.0.0, ::, or port 0", _advertised_address)
ENSEMBLE = ValueType("host:port,host:port/chroot", check_hosts)
FEATURES = ValueType("name:min-max or name:min-max:safe, separated by commas", _features)
CREDENTIALS = ValueType("user:password", _credentials)
PRINCIPAL_RULES = ValueType("DEFAULT or RULE:pattern/replacement/[LU], separated by commas", parse_rules)
SECRET = ValueType("a secret", Secret)
LISTENER_PROTOCOLS = ValueType("LISTENER:PROTOCOL, separated by commas", _listener_protocols)
SASL_MECHANISMS = ValueType(f"a list of {', '.join(MECHANISMS)}", _list_of(MECHANISMS))
PRINCIPALS = ValueType("principals such as User:alice, separated by semicolons", _principals)
PROTOCOL_VERSION = ValueType("a release such as 2.7 or 2.7-IV0", ProtocolVersion.parse)
