"""How a session with a real ensemble begins.

Rules of this file: settings in, a connected ``Store`` out; kazoo's names of options appear here and nowhere else.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire.cluster.zookeeper.errors import Unreachable
from kwire.cluster.zookeeper.operations import OPEN_ACL_UNSAFE
from kwire.cluster.zookeeper.store import make_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.cluster.zookeeper.kazoo_store import KazooStore
    from kwire.cluster.zookeeper.operations import Acl, SessionState

__all__ = ["Credentials", "Tls", "connect"]

HANDSHAKES = 3
"""How many servers can leave a handshake unanswered, one after the other, within one session timeout."""
HANDSHAKE_SECONDS = 2.0
"""What a server that does answer may take for it, however short the session; garbage collection and forks included."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who the session is to the server: ``Credentials("digest", "user:password")``."""

    scheme: str
    secret: str

    def __repr__(self) -> str:
        return f"Credentials({self.scheme!r}, ...)"


@dataclass(frozen=True, slots=True)
class Tls:
    """Encryption. Files in PEM form; ``certificate`` and ``key`` where the server wants to know the client.

    ``verify``: whether the server's certificate must be signed by ``authority``, or by one that the system trusts;
    ``check_hostname``: and whether it must name the host that was asked for.
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
    """A session with the ensemble, once it is there.

    ``hosts``: ``host:port,host:port/chroot``, as in Kafka's ``zookeeper.connect``; a chroot must exist,
    unless it is to be made, as Kafka's brokers do (``make_chroot``).
    ``session_timeout``: seconds without a sign of life after which the ensemble ends the session; it may grant less or
    more. ``acl``: what nodes get that are created without one of their own.

    Errors: Unreachable, AuthenticationFailed.
    """
    from kwire.cluster.zookeeper.kazoo_store import KazooStore

    options: dict[str, Any] = {
        "hosts": _often_enough(hosts, session_timeout),
        "timeout": session_timeout,
        "auth_data": [(one.scheme, one.secret) for one in credentials],
        # A session lasts as long as the ensemble says: go on trying, quickly at first, and never pause for so long that
        # a session could end by it when the ensemble is back.
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
    store = KazooStore(acl, options)
    ready: asyncio.Future[SessionState] = asyncio.get_running_loop().create_future()

    def first_state(state: SessionState) -> None:
        if state != "suspended" and not ready.done():
            ready.set_result(state)

    forget = store.listen(first_state)
    store.start()
    try:
        async with asyncio.timeout(connect_timeout):
            state = await ready
    except BaseException as error:
        await store.close()
        if isinstance(error, TimeoutError):
            raise Unreachable(hosts, connect_timeout) from None
        raise
    forget()
    if state != "connected":
        await store.close()
        raise store.ended("/")
    servers, _, chroot = hosts.partition("/")
    if make_chroot and chroot:
        try:
            if await store.exists("/") is None:
                # From within there is no way to what is above it.
                above = await connect(
                    servers, connect_timeout=connect_timeout, acl=acl, credentials=credentials, tls=tls
                )
                try:
                    await make_path(above, f"/{chroot}")
                finally:
                    await above.close()
        except BaseException:
            await store.close()
            raise
    return store


def _often_enough(hosts: str, session_timeout: float) -> str:
    """The hosts, each named as often as it takes to try several times before the session ends.

    kazoo gives each handshake the session timeout over the number of hosts, as ZooKeeper's own client does. A server
    that starts may take a connection and never answer on it; where it is the only host, the session would end with that
    one handshake.
    """
    servers, slash, chroot = hosts.partition("/")
    count = len(servers.split(","))
    attempts = min(HANDSHAKES, int(session_timeout / HANDSHAKE_SECONDS))
    return ",".join([servers] * max(1, -(-attempts // count))) + slash + chroot
