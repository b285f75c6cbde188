"""The addresses that a cluster advertises, until a connection shows that they work.

A bootstrap server may be reached through a tunnel, or from outside a network of containers, and list addresses that
mean nothing here. Waiting does not help then, so the first connection to such an address has a limit of its own.
"""

from __future__ import annotations

from errno import ETIMEDOUT

from kwire._util.concurrency import running_loop, timeout_after
from kwire._util.light_typing import TYPE_CHECKING
from kwire.protocol.errors import AdvertisedAddressUnreachable, ConnectFailed, ConnectionFault, OversizedFrame

if TYPE_CHECKING:
    from kwire.client.connection_pool import ConnectionPool
    from kwire.protocol.endpoint import Endpoint

UNREACHABLE_AFTER_S, UNKNOWN_NAME_AFTER_S = 10.0, 3.0
"""Seconds for which an address is tried that has never worked, and an address with an unknown name. A broker that has
crashed is listed for 9 s more (`broker.session.timeout.ms`)."""


class AdvertisedAddresses:
    """The addresses of the metadata.

    Args:
        pool: the connections.
        timeout: seconds for a request with all its tries.
    """

    def __init__(self, pool: ConnectionPool, timeout: float) -> None:
        self._pool = pool
        self._limit = min(UNREACHABLE_AFTER_S, timeout)
        self._reached: set[Endpoint] = set()
        self._tried_since: dict[Endpoint, float] = {}

    async def reach(self, endpoint: Endpoint) -> None:
        """Connect to an address, unless there was a connection before: then the pool opens the next one.

        Raises:
            AdvertisedAddressUnreachable: there is no connection. It is retriable until the limit of the address.
                A peer that does not speak Kafka's protocol stays so, and is not tried again.
            ConnectionFault: the peer was reached, and is of no use.
        """
        if endpoint in self._reached:
            return
        now = running_loop().time
        begun = self._tried_since.setdefault(endpoint, now())
        try:
            async with timeout_after(self._limit):
                await self._pool.get(endpoint)
        except ConnectFailed as fault:
            cause, errno = fault.cause, fault.errno
        except OversizedFrame as fault:  # a web server or a proxy, for example: the address is for another network
            raise AdvertisedAddressUnreachable(endpoint, fault.reason()) from None
        except ConnectionFault:
            self._reached.add(endpoint)
            raise
        except TimeoutError:
            cause, errno = f"no connection within {self._limit:g} s", ETIMEDOUT
        else:
            self._reached.add(endpoint)
            return
        limit = UNKNOWN_NAME_AFTER_S if errno is None else self._limit
        raise AdvertisedAddressUnreachable(endpoint, cause, errno, retriable=now() - begun < limit)
