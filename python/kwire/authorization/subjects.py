"""The sender of a request: a principal, such as the subject of a certificate, and the host that it connects from."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Name: TypeAlias = Iterable[Iterable[tuple[str, str]]]
    """A name as Python's `ssl` returns it, in the order of the certificate."""

ANONYMOUS = "User:ANONYMOUS"
"""The principal of clients that do not authenticate, as in Kafka."""
KEYWORDS = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
"""By OpenSSL's names. Other attributes keep OpenSSL's name, where Java writes their number."""
ESCAPED = frozenset(',=+<>#;"\\')


class Subject(NamedTuple):
    """The sender of a request.

    Attributes:
        principal: such as `User:alice`.
        host: the IP address that the client connects from, as `normalized_host` returns it.
    """

    principal: str = ANONYMOUS
    host: str = ""


def normalized_host(host: str) -> str:
    """Return the shortest form of an IP address; an IPv4 address for one that is mapped into IPv6.

    Java writes `0:0:0:0:0:0:0:1` where Python writes `::1`. Another text, such as `*`, is returned unchanged.
    """
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address)


def distinguished_name(subject: Name) -> str:
    """Return a name such as `CN=alice,OU=team,O=example`, the most specific part first.

    Kafka shows it in a principal: RFC 2253, as Java writes it.
    """
    parts = ["+".join(f"{KEYWORDS.get(key, key)}={_escape(value)}" for key, value in part) for part in subject]
    return ",".join(reversed(parts))


def _escape(value: str) -> str:
    escaped = "".join(f"\\{character}" if character in ESCAPED else character for character in value)
    if escaped.endswith(" "):
        escaped = escaped[:-1] + "\\ "
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
