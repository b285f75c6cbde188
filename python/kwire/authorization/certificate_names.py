"""The subject of a certificate as Kafka shows it in a principal: RFC 2253, as Java writes it."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Name: TypeAlias = Iterable[Iterable[tuple[str, str]]]
    """A name as Python's `ssl` returns it, in the order of the certificate."""

__all__ = ["distinguished_name"]

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


def distinguished_name(subject: Name) -> str:
    """Return a name such as `CN=alice,OU=team,O=example`, the most specific part first."""
    parts = ["+".join(f"{KEYWORDS.get(key, key)}={_escape(value)}" for key, value in part) for part in subject]
    return ",".join(reversed(parts))


def _escape(value: str) -> str:
    escaped = "".join(f"\\{character}" if character in ESCAPED else character for character in value)
    if escaped.endswith(" "):
        escaped = escaped[:-1] + "\\ "
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
