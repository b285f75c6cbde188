"""The cluster that a server administers: its client, which all requests share, and what is allowed there."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.client.admin import AdminClient
from kwire.errors import KwireError
from kwire_admin.operations.parameters import Danger, InvalidArgument

if TYPE_CHECKING:
    from kwire.client import ConnectionConfig
    from kwire_admin.operations.declaration import Operation

__all__ = ["ClusterAccess", "ServedCluster"]


@dataclass(frozen=True, slots=True)
class ServedCluster:
    """A cluster, how to connect to it, and what is allowed there.

    Attributes:
        bootstrap: some of its brokers.
        config: TLS and SASL; None for plaintext.
        client_id: the client id of all requests.
        timeout: seconds for each request.
        cluster_id: the id that it must have before anything is changed; None for any.
        read_only: true if changes are refused.
        typed_name: the text that confirms a destruction, in place of `true`; None for `true`.
    """

    bootstrap: str
    config: ConnectionConfig | None = None
    client_id: str = "kwire-http"
    timeout: float = 30.0
    cluster_id: str | None = None
    read_only: bool = False
    typed_name: str | None = None


class ClusterAccess:
    """Opens the client of a cluster when it is needed first, so that a server can start before its cluster."""

    def __init__(self, cluster: ServedCluster) -> None:
        self.cluster = cluster
        self._opening: asyncio.Task[AdminClient] | None = None

    async def admin(self) -> AdminClient:
        """Return the client.

        Raises:
            ConnectionFault: no broker responds.
        """
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(opening)  # the others that wait for it go on if one request is cancelled

    async def close(self) -> None:
        """Close the client."""
        if self._opening is not None:
            self._opening.cancel()
            with suppress(asyncio.CancelledError, KwireError):
                await (await self._opening).close()

    async def _open(self) -> AdminClient:
        cluster = self.cluster
        return await AdminClient.open(
            cluster.bootstrap, client_id=cluster.client_id, timeout=cluster.timeout, config=cluster.config
        )

    async def check(self, verb: Operation, *, dry_run: bool) -> None:
        """Check that a verb may be run on the cluster.

        Raises:
            InvalidArgument: the cluster is read-only, or it is another one than expected.
        """
        if verb.danger is Danger.READS or dry_run:
            return
        if self.cluster.read_only:
            raise InvalidArgument("the cluster is read-only in the configuration of the server")
        if self.cluster.cluster_id is not None:
            cluster_id = (await (await self.admin()).describe_cluster()).cluster_id
            if cluster_id != self.cluster.cluster_id:
                raise InvalidArgument(f"the cluster is {cluster_id}, and the server expects {self.cluster.cluster_id}")
