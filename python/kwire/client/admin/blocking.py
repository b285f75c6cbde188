"""An admin client for programs without asyncio: `AdminClient` in a thread with an event loop."""

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


def _blocking(
    method: Callable[Concatenate[AdminClient, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingAdminClient, P], R]:
    def run(self: BlockingAdminClient, /, *arguments: P.args, **options: P.kwargs) -> R:
        return self._run(method(self._client, *arguments, **options))

    run.__name__, run.__qualname__ = method.__name__, f"BlockingAdminClient.{method.__name__}"
    run.__doc__ = method.__doc__
    return run


class BlockingAdminClient:
    """Administers a cluster. Use `with BlockingAdminClient(...)`, or `close` it.

    Arguments and errors are those of `AdminClient.open`.
    """

    def __init__(
        self, bootstrap: str | Iterable[str], *, client_id: str | None = "kwire-admin", timeout: float = 30.0
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kwire-admin", daemon=True)
        self._thread.start()
        try:
            self._client = self._run(AdminClient.open(bootstrap, client_id=client_id, timeout=timeout))
        except BaseException:
            self._end()
            raise

    create_topics = _blocking(AdminClient.create_topics)
    alter_topics = _blocking(AdminClient.alter_topics)
    delete_topics = _blocking(AdminClient.delete_topics)
    reassign_partitions = _blocking(AdminClient.reassign_partitions)
    list_reassignments = _blocking(AdminClient.list_reassignments)
    elect_leaders = _blocking(AdminClient.elect_leaders)
    run_tool = _blocking(AdminClient.run_tool)
    describe_cluster = _blocking(AdminClient.describe_cluster)
    list_topics = _blocking(AdminClient.list_topics)
    describe_topics = _blocking(AdminClient.describe_topics)
    wait_until_created = _blocking(AdminClient.wait_until_created)
    wait_until_deleted = _blocking(AdminClient.wait_until_deleted)
    wait_until_reassigned = _blocking(AdminClient.wait_until_reassigned)
    wait_until_preferred = _blocking(AdminClient.wait_until_preferred)

    def close(self) -> None:
        """Close the connections and end the thread. A second call does nothing."""
        if self._thread.is_alive():
            self._run(self._client.close())
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # interrupted by Ctrl-C
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
