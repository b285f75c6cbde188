"""``BlockingAdminClient``: the verbs of ``AdminClient`` for programs without an event loop.

Rules of this file: one event loop in a thread of its own, for as long as the client is open. No verb is written twice:
each is the asyncio one, waited for; signatures follow from it.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from kwire.client.admin.admin_client import AdminClient

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from types import TracebackType
    from typing import Any

P = ParamSpec("P")
R = TypeVar("R")


def _waiting(
    verb: Callable[Concatenate[AdminClient, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingAdminClient, P], R]:
    def wait(self: BlockingAdminClient, /, *arguments: P.args, **options: P.kwargs) -> R:
        return self._wait(verb(self._client, *arguments, **options))

    wait.__name__, wait.__qualname__ = verb.__name__, f"BlockingAdminClient.{verb.__name__}"
    wait.__doc__ = verb.__doc__
    return wait


class BlockingAdminClient:
    """Use ``with BlockingAdminClient(...)``, or ``close`` it. Arguments and errors as for ``AdminClient.open``."""

    def __init__(
        self, bootstrap: str | Iterable[str], *, client_id: str | None = "kwire-admin", timeout: float = 30.0
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kwire-admin", daemon=True)
        self._thread.start()
        try:
            self._client = self._wait(AdminClient.open(bootstrap, client_id=client_id, timeout=timeout))
        except BaseException:
            self._end()
            raise

    create_topics = _waiting(AdminClient.create_topics)
    alter_topics = _waiting(AdminClient.alter_topics)
    delete_topics = _waiting(AdminClient.delete_topics)
    reassign_partitions = _waiting(AdminClient.reassign_partitions)
    list_reassignments = _waiting(AdminClient.list_reassignments)
    elect_leaders = _waiting(AdminClient.elect_leaders)
    run_tool = _waiting(AdminClient.run_tool)
    describe_cluster = _waiting(AdminClient.describe_cluster)
    list_topics = _waiting(AdminClient.list_topics)
    describe_topics = _waiting(AdminClient.describe_topics)
    wait_until_created = _waiting(AdminClient.wait_until_created)
    wait_until_deleted = _waiting(AdminClient.wait_until_deleted)
    wait_until_reassigned = _waiting(AdminClient.wait_until_reassigned)
    wait_until_preferred = _waiting(AdminClient.wait_until_preferred)

    def close(self) -> None:
        """Close the connections and end the thread; may be called again."""
        if self._thread.is_alive():
            self._wait(self._client.close())
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C while waiting: nobody is left who would want the answer
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
