"""The sender of a request: a principal and the host that it connects from."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from kwire._util.light_typing import NamedTuple

__all__ = ["ANONYMOUS", "Subject", "normalized_host"]

ANONYMOUS = "User:ANONYMOUS"
"""The principal of clients that do not authenticate, as in Kafka."""


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
