"""The address of a broker."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_PORT = 9092
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The values of Kafka's `security.protocol`."""
LONGEST_LABEL = 63
"""Maximum length of a part of a name between dots (RFC 1035)."""


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
    def parse(cls, text: str, security_protocol: str | None = None) -> Endpoint:
        """Parse `host`, `host:port`, `[address]:port`, or a bare IPv6 address. The default port is 9092.

        Args:
            security_protocol: the protocol of the connection, which may stand in front, as in `SASL_SSL://host:port`;
                None if nothing may stand there. Java's clients ignore what stands there, so a client could send a
                password in clear text to an address that asks for TLS.

        Raises:
            ValueError: the text is not an address, or asks for another protocol.
        """
        scheme, separator, address = text.strip().rpartition("://")
        if separator and scheme.upper() != security_protocol:
            raise ValueError(_wrong_scheme(text, scheme, security_protocol))
        host, colon, port = address.rpartition(":")
        is_port = port.isascii() and port.isdigit() and 0 < int(port[:6]) <= 0xFFFF and len(port) < 6
        if colon and ":" in host and not host.startswith("[") and is_port and _is_host(host):
            # `::1:9092` is an IPv6 address as a whole as well. Java's clients take its end for the port.
            raise ValueError(f"{_shown(text)} needs brackets around the IPv6 address: write [{host}]:{port}")
        if not colon or port.endswith("]") or (":" in host and not host.startswith("[")):
            host, port, is_port = address, str(DEFAULT_PORT), True
        host = host.removeprefix("[").removesuffix("]")
        if not _is_host(host) or not is_port:
            several = ", and commas between several" if {" ", ";", "|", "\n", "\t"} & set(address) else ""
            raise ValueError(f"{_shown(text)} is not the address of a broker: write host:port{several}")
        return cls(host, int(port))

    @classmethod
    def parse_all(cls, bootstrap: str | Iterable[str], security_protocol: str | None = None) -> tuple[Endpoint, ...]:
        """Parse bootstrap servers: a comma-separated list or several addresses. Duplicates are dropped.

        Args:
            security_protocol: see `parse`.

        Raises:
            ValueError: an address is invalid, or the list is empty.
        """
        texts = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
        endpoints = tuple(dict.fromkeys(cls.parse(text, security_protocol) for text in texts if text.strip()))
        if not endpoints:
            raise ValueError("no bootstrap servers given")
        return endpoints


def _wrong_scheme(text: str, scheme: str, security_protocol: str | None) -> str:
    """Return the error of an address that asks for another protocol than the one of the connection."""
    if scheme.upper() not in SECURITY_PROTOCOLS:
        return f"{_shown(text)} is not the address of a broker: write host:port, and set security.protocol"
    if security_protocol is None:
        return f"{_shown(text)} is not the address of a broker: write host:port without {scheme}://"
    return (
        f"{_shown(text)} asks for {scheme.upper()}, and the connection has security.protocol={security_protocol}: "
        f"set security.protocol={scheme.upper()}, or write host:port"
    )


def _shown(text: str) -> str:
    """Return a text for an error, without a password that stands in front of a host."""
    before, at, host = text.rpartition("@")
    if not at:
        return repr(text)
    scheme, separator, _ = before.rpartition("://")
    return repr(f"{scheme}{separator}***@{host}")


def _is_host(text: str) -> bool:
    """Return whether a text may be the name or the address of a host, unlike a URL, several words, and two ports."""
    if ":" in text:
        address, percent, zone = text.partition("%")
        return _is_ipv6(address) and (not percent or _is_name(zone))
    if not text.isascii() and text.isprintable():
        try:
            text = text.encode("idna").decode("ascii")  # a wide colon or comma of an input method becomes a usual one
        except UnicodeError:
            return False
    return _is_name(text)


def _is_name(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    return text.isascii() and all(
        0 < len(label) <= LONGEST_LABEL and label.replace("-", "a").replace("_", "a").isalnum() for label in labels
    )


def _is_ipv6(text: str) -> bool:
    import socket

    try:
        socket.inet_pton(socket.AF_INET6, text)
    except (OSError, UnicodeEncodeError, ValueError):
        return False
    return True
