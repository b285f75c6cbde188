"""Opening of sessions with a ZooKeeper ensemble, and the options of kazoo."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire_cluster.zookeeper.errors import InvalidConnectString, Unreachable
from kwire_cluster.zookeeper.operations import OPEN_ACL_UNSAFE, SessionState
from kwire_cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kwire_cluster.zookeeper.kazoo_store import KazooStore
    from kwire_cluster.zookeeper.operations import Acl

__all__ = ["Credentials", "Tls", "connect"]

HANDSHAKES = 3
"""Number of handshakes in a row that may remain without a response within one session timeout."""
HANDSHAKE_SECONDS = 2.0
"""Minimum time for a handshake, however short the session timeout, including garbage collection and forks."""


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
) -> KazooStore:
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
    """
    hosts = check_hosts(hosts)
    from kwire_cluster.zookeeper.kazoo_store import KazooStore

    # Each attempt is a warning of kazoo, which Python prints on stderr if the program has no logs. The error says it.
    logging.getLogger("kazoo").addHandler(logging.NullHandler())
    store = KazooStore(acl, _kazoo_options(hosts, session_timeout, credentials, tls))
    ready: asyncio.Future[SessionState] = asyncio.get_running_loop().create_future()

    def first_state(state: SessionState) -> None:
        if state != SessionState.SUSPENDED and not ready.done():
            ready.set_result(state)

    remove_listener = store.listen(first_state)
    store.start()
    try:
        async with asyncio.timeout(connect_timeout):
            state = await ready
    except BaseException as error:
        await store.close()
        if isinstance(error, TimeoutError):
            raise Unreachable(hosts, connect_timeout) from None
        raise
    remove_listener()
    if state != SessionState.CONNECTED:
        await store.close()
        raise store.final_error()
    servers, _, chroot = hosts.partition("/")
    if make_chroot and chroot:
        connect_parent = partial(
            connect, servers, connect_timeout=connect_timeout, acl=acl, credentials=credentials, tls=tls
        )
        await _make_chroot(store, chroot, connect_parent)
    return store


async def _make_chroot(store: KazooStore, chroot: str, connect_parent: Callable[[], Awaitable[KazooStore]]) -> None:
    """Create the root of a session if it does not exist; close the session if that fails."""
    try:
        if await store.exists("/") is None:
            parent = await connect_parent()  # a session with a chroot cannot create the znodes above it
            try:
                await make_path(parent, f"/{chroot}")
            finally:
                await parent.close()
    except BaseException:
        await store.close()
        raise


def _kazoo_options(
    hosts: str, session_timeout: float, credentials: Sequence[Credentials], tls: Tls | None
) -> dict[str, Any]:
    """Return the arguments of kazoo's client."""
    options: dict[str, Any] = {
        "hosts": _repeat_hosts(hosts, session_timeout),
        "timeout": session_timeout,
        "auth_data": [(one.scheme, one.secret) for one in credentials],
        # Only the ensemble ends a session, so retry without limit: quickly at first, and with pauses too short to let
        # the session expire once the ensemble is back.
        "connection_retry": {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": min(1.0, session_timeout / 8)},
    }
    if tls is not None:
        options |= {
            "use_ssl": True,
            "ca": tls.authority,
            "certfile": tls.certificate,
            "keyfile": tls.key,
            "keyfile_password": tls.key_password,
            "verify_certs": tls.verify,
            "check_hostname": tls.check_hostname,
        }
    return options


_LABEL = "[A-Za-z0-9_-]{1,63}"
_HOST = re.compile(rf"(?=.{{1,254}}$){_LABEL}(\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]")
"""A name or an address. Longer names, and names with empty labels, end the thread of kazoo."""


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


def _repeat_hosts(hosts: str, session_timeout: float) -> str:
    """Repeat the hosts, so that several handshakes fit into one session timeout.

    Like ZooKeeper's client, kazoo allows each handshake the session timeout divided by the number of hosts. A starting
    server may accept a connection and never respond on it. With a single host, the session would expire during that one
    handshake.
    """
    servers, slash, chroot = hosts.partition("/")
    count = len(servers.split(","))
    attempts = min(HANDSHAKES, int(session_timeout / HANDSHAKE_SECONDS))
    return ",".join([servers] * max(1, -(-attempts // count))) + slash + chroot
