"""The connection of a blocking admin client: an `AdminClient` in a thread with an event loop."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from kwire.client.admin.admin_client import AdminClient
from kwire.client.loop_thread import LoopThread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from types import TracebackType
    from typing import Any

    from kwire.client.admin.cluster_router import SentCommand
    from kwire.client.connection_config import ConnectionConfig
    from kwire.protocol.negotiated_versions import Dialect

P = ParamSpec("P")
R = TypeVar("R")


class BlockingSession:
    """A cluster to administer without asyncio, from its connection to `close`."""

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        *,
        client_id: str | None = "kwire-admin",
        timeout: float = 30.0,
        config: ConnectionConfig | None = None,
    ) -> None:
        self.thread = LoopThread("kwire-admin")
        try:
            opening = AdminClient.open(bootstrap, client_id=client_id, timeout=timeout, config=config)
            self.client = self.thread.run(opening)
        except BaseException:
            self.thread.close()
            raise

    @property
    def dialect(self) -> Dialect:
        """`kafka`, or `kip4` for the drafts."""
        return self.client.dialect

    @property
    def commands(self) -> Sequence[SentCommand]:
        """See `AdminClient.commands`."""
        return self.client.commands

    def close(self) -> None:
        """Close the connections and end the thread. A second call does nothing.

        An operation that runs in another thread raises LoopThreadClosed, and a command may have been executed.
        """
        self.thread.close(self.client.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def blocking(
    operation: Callable[Concatenate[AdminClient, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingSession, P], R]:
    """Return a method that runs an operation of `AdminClient` in the thread and waits for it."""

    @wraps(operation)
    def run(session: BlockingSession, /, *arguments: P.args, **options: P.kwargs) -> R:
        return session.thread.run(operation(session.client, *arguments, **options))

    return run
