"""Addresses of the servers of an ensemble."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Server: TypeAlias = tuple[str, int]
"""A host and a port."""

log = logging.getLogger("kwire_cluster.zookeeper")


class ServerAddresses:
    """The addresses of servers, looked up for each round of attempts to connect.

    A name server that fails or does not respond must not cost the session: the last known addresses remain, and a
    lookup that takes long goes on in the background.

    Args:
        servers: hosts and ports.
    """

    def __init__(self, servers: Sequence[Server]) -> None:
        self._servers = servers
        self._known: dict[Server, list[Server]] = {}
        self._lookups: dict[Server, asyncio.Task[None]] = {}
        self._last: Server | None = None

    async def in_turn(self, timeout: float) -> list[tuple[str, Server]]:
        """Return the addresses in random order, each with its host, after at most `timeout` seconds.

        The address that was `used` last is the last one: it may have ended the connection because it cannot respond.
        """
        for server in self._servers:
            if server not in self._lookups:
                self._lookups[server] = asyncio.create_task(self._look_up(server), name="zookeeper lookup")
        await asyncio.wait(self._lookups.values(), timeout=timeout)
        addresses = [(server[0], address) for server in self._servers for address in self._known.get(server, ())]
        random.shuffle(addresses)
        return sorted(addresses, key=lambda one: one[1] == self._last)

    def used(self, address: Server) -> None:
        """Note that a connection to this address was attempted."""
        self._last = address

    def close(self) -> None:
        """Stop all lookups."""
        for lookup in self._lookups.values():
            lookup.cancel()

    async def _look_up(self, server: Server) -> None:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(*server, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            log.info("cannot resolve the ZooKeeper server %s: %s", server[0], error)
        else:
            self._known[server] = [_with_zone(*entry[4]) for entry in found]
        finally:
            del self._lookups[server]


def _with_zone(host: str, port: int, _flow: int = 0, zone: int = 0) -> Server:
    """Return an address whose host has the zone of a link-local IPv6 address."""
    return (f"{host}%{zone}" if zone else host), port
