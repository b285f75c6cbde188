"""The address of a broker."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DEFAULT_PORT", "Endpoint"]

DEFAULT_PORT = 9092


class Endpoint(NamedTuple):
    """A host name or IP address, and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def server_name(self) -> str:
        """The host as certificates, SNI, and Kerberos name it: without the final dot of an absolute name or a zone."""
        return self.host.partition("%")[0] if ":" in self.host else self.host.removesuffix(".")

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Parse `host`, `host:port`, `[address]:port`, or a bare IPv6 address. The default port is 9092.

        Raises:
            ValueError: the text is not an address.
        """
        host, colon, port = text.strip().rpartition(":")
        if not colon or port.endswith("]") or (":" in host and not host.startswith("[")):
            host, port = text.strip(), str(DEFAULT_PORT)
        host = host.removeprefix("[").removesuffix("]")
        if not _is_host(host) or not (port.isascii() and port.isdigit() and 0 < int(port) <= 0xFFFF):
            raise ValueError(f"{text!r} is not the address of a broker: write host:port")
        return cls(host, int(port))

    @classmethod
    def parse_all(cls, bootstrap: str | Iterable[str]) -> tuple[Endpoint, ...]:
        """Parse bootstrap servers: a comma-separated list or several addresses. Duplicates are dropped.

        Raises:
            ValueError: an address is invalid, or the list is empty.
        """
        texts = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
        endpoints = tuple(dict.fromkeys(cls.parse(text) for text in texts if text.strip()))
        if not endpoints:
            raise ValueError("no bootstrap servers given")
        return endpoints


def _is_host(text: str) -> bool:
    """Return whether a text may be the name or the address of a host, unlike a URL, several words, and two ports."""
    if ":" in text:
        return _is_ipv6(text.partition("%")[0])
    return bool(text) and text.isprintable() and not {" ", "/"} & set(text)


def _is_ipv6(text: str) -> bool:
    import socket

    try:
        socket.inet_pton(socket.AF_INET6, text)
    except (OSError, UnicodeEncodeError, ValueError):
        return False
    return True
