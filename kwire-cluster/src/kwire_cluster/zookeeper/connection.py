"""Opening of sessions with a ZooKeeper ensemble."""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cluster.zookeeper.errors import InvalidConnectString, Unreachable
from kwire_cluster.zookeeper.operations import OPEN_ACL_UNSAFE
from kwire_cluster.zookeeper.store import make_path, until_answered
from kwire_cluster.zookeeper.zookeeper_store import ZooKeeperStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.zookeeper.operations import Acl

DEFAULT_PORT = 2181


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of a session, such as `Credentials("digest", "user:password")`."""

    scheme: str
    secret: str

    def __repr__(self) -> str:
        return f"Credentials({self.scheme!r}, ...)"


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS options. All files are in PEM format.

    Attributes:
        authority: the CA certificates; None for the certificates of the system.
        certificate: the client certificate, if the server requires one.
        key: the private key of the client certificate.
        key_password: the password of the private key.
        verify: true if the certificate of the server is verified.
        check_hostname: true if the certificate must contain the name of the host.
    """

    authority: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = None
    verify: bool = True
    check_hostname: bool = False

    def __repr__(self) -> str:
        return f"Tls(authority={self.authority!r}, certificate={self.certificate!r}, verify={self.verify})"


async def connect(
    hosts: str,
    *,
    session_timeout: float = 6.0,
    connect_timeout: float = 15.0,
    acl: tuple[Acl, ...] = OPEN_ACL_UNSAFE,
    credentials: Sequence[Credentials] = (),
    tls: Tls | None = None,
    make_chroot: bool = False,
) -> ZooKeeperStore:
    """Open a session and wait until it is connected.

    Args:
        hosts: `host:port,host:port/chroot`, as in Kafka's `zookeeper.connect`.
        session_timeout: seconds without contact after which the ensemble ends the session; it may change the value.
        connect_timeout: seconds to wait for the connection.
        acl: the access control list of znodes that are created without one.
        credentials: the credentials of the session.
        tls: TLS options, None for plaintext.
        make_chroot: true to create a missing chroot, as Kafka brokers do; otherwise it must exist.

    Raises:
        Unreachable: no server accepted the connection in time.
        AuthenticationFailed: the server rejected the credentials.
        InvalidConnectString: `hosts` is another text (`check_hosts`).
        OSError: a file of `tls` cannot be read.
    """
    hosts = check_hosts(hosts)
    servers, slash, chroot = hosts.partition("/")
    store = ZooKeeperStore(
        [_host_and_port(server) for server in servers.split(",")],
        slash + chroot,
        session_timeout,
        acl,
        [(one.scheme, one.secret) for one in credentials],
        None if tls is None else _tls_context(tls),
    )
    try:
        async with asyncio.timeout(connect_timeout):
            await store.opened
            if make_chroot and chroot and await until_answered(lambda: store.exists("/")) is None:
                # A session with a chroot cannot create the znodes above it.
                parent = await connect(
                    servers, connect_timeout=connect_timeout, acl=acl, credentials=credentials, tls=tls
                )
                try:
                    await until_answered(lambda: make_path(parent, f"/{chroot}"))
                finally:
                    await parent.close()
    except BaseException as error:
        await store.close()
        if isinstance(error, TimeoutError):
            raise Unreachable(hosts, connect_timeout) from None
        raise
    return store


def _tls_context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls.authority)
    context.check_hostname = tls.verify and tls.check_hostname
    if not tls.verify:
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate is not None:
        context.load_cert_chain(tls.certificate, tls.key, tls.key_password)
    return context


def _host_and_port(server: str) -> tuple[str, int]:
    host, port = _split_port(server)
    return host.strip("[]"), int(port or DEFAULT_PORT)


_LABEL = "[A-Za-z0-9_-]{1,63}"
_HOST = re.compile(rf"(?=.{{1,254}}$){_LABEL}(\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]")
"""A name or an address. Resolvers reject longer names, and names with empty labels."""


def check_hosts(hosts: str) -> str:
    """Return a connect string as ZooKeeper's client takes it, without spaces around its parts and a line end.

    Raises:
        InvalidConnectString: it is another text; the error says what to write.
    """
    text = re.sub(r"\s*([,:])\s*|^\s+|\s+$", r"\1", hosts)
    if "://" in text:
        raise _wrong_hosts(hosts, f"without {text.partition('://')[0]}://")
    if "@" in text.partition("/")[0]:
        raise _wrong_hosts(hosts, "without a user: credentials are settings of their own")
    servers, slash, chroot = text.partition("/")
    servers = servers.rstrip()
    if re.search(r"[;\s]", servers) or re.search(r";[^/]*:\d", chroot):
        raise _wrong_hosts(hosts, "with a comma between two hosts")
    if re.search(r"\s", chroot):
        raise _wrong_hosts(hosts, "with a chroot without spaces")
    if "," in chroot:
        raise _wrong_hosts(hosts, "with the chroot once, behind the last host")
    chroot = "/".join(filter(None, chroot.split("/")))
    for server in servers.split(","):
        if not server:
            raise _wrong_hosts(hosts, "without an empty host")
        host, port = _split_port(server)
        if not _HOST.fullmatch(host):
            brackets = " (IPv6 in brackets)" if server.count(":") > 1 else ""
            raise _wrong_hosts(hosts, f"with a valid host instead of {host!r}{brackets}")
        if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536):
            raise _wrong_hosts(hosts, f"with a port from 1 to 65535 instead of {port!r}")
    for name in chroot.split("/"):
        if name in {".", ".."} or not name.isprintable():
            raise _wrong_hosts(hosts, f"with valid znodes in the chroot instead of {name!r}")
    return f"{servers}{slash}{chroot}".rstrip("/")


def _split_port(server: str) -> tuple[str, str | None]:
    if server.startswith("["):
        host, bracket, rest = server.partition("]")
        return host + bracket, rest.removeprefix(":") if rest.startswith(":") else rest or None
    host, colon, port = server.rpartition(":")
    return (host, port) if colon else (server, None)


def _wrong_hosts(hosts: str, instead: str) -> InvalidConnectString:
    shown = re.sub(r"[^/@,]*@", "***@", hosts.strip())
    return InvalidConnectString(shown, instead)
