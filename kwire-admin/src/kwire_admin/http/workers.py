"""Threads that run verbs: one for each principal, so that the work of one request delays no other principal.

A verb computes: it reads documents of megabytes, compares 60,000 topics, or plans a reassignment. In the event loop of
the server, all connections would wait for it, and a liveness probe would kill the server. So each principal has a
thread with an event loop and a client of the cluster, from its first request on. All its requests share that one
thread, so a principal takes at most one processor, and at most MAX_RUNNING requests of it run or wait for brokers.

    the event loop of the server      receives requests and bodies, checks access, sends responses
    the thread of a principal         arguments, the verb, and the text of its response
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from kwire.client.admin import AdminClient
from kwire.client.loop_thread import LoopThread
from kwire.errors import KwireError
from kwire_admin.http.responses import RequestRefused
from kwire_admin.operations.parameters import Danger, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from kwire.terminal.cluster import ClusterChoice
    from kwire_admin.operations.declaration import Operation

__all__ = ["PrincipalWorker", "PrincipalWorkers"]

MAX_RUNNING = 32
"""Maximum number of requests of a principal at a time. Chosen: a browser opens 6 connections to a server."""
SWITCH_INTERVAL_S = 0.0005
"""Time in seconds after which a thread that computes lets another one run; Python's default is 0.005. The event loop
waits for that at each of its system calls, behind each principal that computes. Measured with 8 principals that compare
documents on two busy cores: `/healthz` answers within 0.4 s instead of 1.7 s, and the documents take no longer."""
CLOSE_TIMEOUT_S = 2.0
"""Seconds to close the client of a principal, whose thread may be busy."""

R = TypeVar("R")


class PrincipalWorker:
    """The thread of a principal, with its client of the cluster.

    The client is opened when it is needed first, so that a server can start before its cluster.

    Attributes:
        cluster: the cluster.
    """

    def __init__(self, cluster: ClusterChoice) -> None:
        self.cluster = cluster
        self._thread = LoopThread("kwire-http-verbs")
        self._opening: asyncio.Task[AdminClient] | None = None

    async def run(self, work: Callable[[PrincipalWorker], Coroutine[Any, Any, R]]) -> R:
        """Run the work of a request in the thread."""
        return await asyncio.wrap_future(self._thread.start(work(self)))

    async def close(self) -> None:
        """Close the client. A thread that computes is left behind: it ends with the process."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.wrap_future(self._thread.start(self._close_client()))
        self._thread.close(wait=False)

    # In the thread

    async def admin(self) -> AdminClient:
        """Return the client.

        Raises:
            ConnectionFault: no broker responds.
        """
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            cluster = self.cluster
            client = AdminClient.open(
                cluster.bootstrap, client_id=cluster.client_id, timeout=cluster.timeout, config=cluster.config
            )
            opening = self._opening = asyncio.ensure_future(client)
        return await asyncio.shield(opening)  # the others that wait for it go on if one request is cancelled

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

    async def _close_client(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            with suppress(asyncio.CancelledError, KwireError):
                await (await self._opening).close()


class PrincipalWorkers:
    """The threads of all principals.

    Their number is bounded: a principal is a token, a certificate with a role, or the anonymous one.

    Args:
        cluster: the cluster that the verbs administer.
    """

    def __init__(self, cluster: ClusterChoice) -> None:
        self._cluster = cluster
        self._workers: dict[str, PrincipalWorker] = {}
        self._running: Counter[str] = Counter()

    async def run(self, principal: str, work: Callable[[PrincipalWorker], Coroutine[Any, Any, R]]) -> R:
        """Run the work of a request in the thread of its principal. Canceling the caller cancels the work.

        Raises:
            RequestRefused: too many requests of the principal run.
        """
        if self._running[principal] >= MAX_RUNNING:
            message = f"{MAX_RUNNING} requests of {principal} run already"
            raise RequestRefused(429, "TooManyRequests", message, {"Retry-After": "1"})
        worker = self._workers.get(principal)
        if worker is None:
            sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL_S))
            worker = self._workers[principal] = PrincipalWorker(self._cluster)
        self._running[principal] += 1
        try:
            return await worker.run(work)
        finally:
            self._running[principal] -= 1

    async def close(self) -> None:
        """Close the clients of all threads."""
        await asyncio.gather(*(worker.close() for worker in self._workers.values()))
