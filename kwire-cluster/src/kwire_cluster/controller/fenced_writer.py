"""Writes to ZooKeeper that are fenced by the controller epoch.

Every transaction starts with a check of the version of `/controller_epoch`, so a controller that has been replaced can
write nothing and gets ControllerMovedError. Transactions start when `commit` is called, so they are pipelined.

If the connection is lost during a transaction, its outcome is unknown. The writer then reads the first znode that the
transaction changes: transactions are atomic, so that znode shows whether the transaction was applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.errors import KwireError
from kwire_cluster.zookeeper.controllers import ControllerEpoch
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    NoNode,
    SessionExpired,
    StoreClosed,
    StoreError,
    TransactionFailed,
)
from kwire_cluster.zookeeper.operations import Check, Create, Delete, Operation, SetData

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Sequence

    from kwire_cluster.zookeeper.operations import OperationResult
    from kwire_cluster.zookeeper.store import Store


class ControllerMovedError(KwireError):
    """Another broker may be the controller, or the session has ended. This controller writes nothing more."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WriteConflict(KwireError):
    """A znode differs from what was last read, so nothing was written.

    Attributes:
        path: the znode.
        error: the error of the store.
    """

    def __init__(self, path: str, error: StoreError) -> None:
        super().__init__(path, error)
        self.path = path
        self.error = error

    def __str__(self) -> str:
        return str(self.error)


class FencedWriter:
    """The writes of one controller epoch.

    Args:
        store: the session of the controller.
        epoch_zk_version: version of `/controller_epoch` as this controller wrote it.
    """

    def __init__(self, store: Store, epoch_zk_version: int) -> None:
        self._store = store
        self._check = Check(ControllerEpoch.path(), epoch_zk_version)

    def commit(self, operations: Sequence[Operation]) -> Coroutine[Any, Any, None]:
        """Start a transaction and return a coroutine that waits for its outcome.

        The coroutine raises:
            ControllerMovedError: nothing was written, or the outcome is unknown because the session has ended.
            WriteConflict: a znode has changed.
            StoreError: an error that does not depend on other writers, such as PacketTooLarge or NotAuthorized.
        """
        return self._wait(operations, self._start(operations))

    def commit_all(self, transactions: Sequence[Sequence[Operation]]) -> Coroutine[Any, Any, None]:
        """Start the first transaction, and return a coroutine that commits the others after it, one by one."""
        first = self.commit(transactions[0])
        return self._commit_others(first, transactions[1:]) if len(transactions) > 1 else first

    async def _commit_others(self, first: Coroutine[Any, Any, None], others: Sequence[Sequence[Operation]]) -> None:
        await first
        for operations in others:
            await self.commit(operations)

    def _start(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        return self._store.multi([self._check, *operations])

    async def _wait(self, operations: Sequence[Operation], pending: asyncio.Future[list[OperationResult]]) -> None:
        while True:
            try:
                await pending
            except ConnectionLost:
                if await self._was_applied(operations[0]):
                    return
                pending = self._start(operations)
            except TransactionFailed as failed:
                if failed.index == 0:
                    raise ControllerMovedError(f"the controller epoch has changed: {failed.error}") from failed
                raise WriteConflict(failed.error.path, failed.error) from failed
            except (SessionExpired, StoreClosed) as error:
                raise ControllerMovedError(str(error)) from error
            else:
                return

    async def _was_applied(self, first: Operation) -> bool:
        """Return whether the transaction that starts with this operation was applied.

        If another writer has changed the znode since, the result is False. The transaction is then repeated and fails
        because of the version.
        """
        while True:
            try:
                await self._store.sync(first.path)
                znode = await self._store.get(first.path)
            except ConnectionLost:
                continue
            except NoNode:
                return isinstance(first, Delete)
            except (SessionExpired, StoreClosed) as error:
                raise ControllerMovedError(str(error)) from error
            if isinstance(first, SetData):
                return znode.stat.version == first.version + 1 and znode.data == first.data
            return isinstance(first, Create) and znode.data == first.data
