"""``FencedWriter``: writes that take place only while the controller that makes them is still the last one elected.

Rules of this file: every transaction begins with a check of the version of ``/controller_epoch``. A writer that was
overtaken can write nothing, and ``Deposed`` says so. Where the connection was lost and nobody knows whether a
transaction took place, the first thing that it would have changed is read again: since a transaction is whole or not at
all, that tells. Transactions begin when ``commit`` is called, so they are pipelined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.cluster.zookeeper.controllers import ControllerEpoch
from kwire.cluster.zookeeper.errors import (
    ConnectionLost,
    NoNode,
    SessionExpired,
    StoreClosed,
    StoreError,
    TransactionFailed,
)
from kwire.cluster.zookeeper.operations import Check, Create, Delete, Operation, Set
from kwire.errors import KwireError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine, Sequence

    from kwire.cluster.zookeeper.operations import OperationResult
    from kwire.cluster.zookeeper.store import Store

__all__ = ["Conflict", "Deposed", "FencedWriter"]


class Deposed(KwireError):
    """There may be another controller, or the session is gone: nothing was written, nothing more will be."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Conflict(KwireError):
    """A node was not as it was last read: nothing was written. ``path``: which; ``error``: what the store said."""

    def __init__(self, path: str, error: StoreError) -> None:
        super().__init__(path, error)
        self.path = path
        self.error = error

    def __str__(self) -> str:
        return str(self.error)


class FencedWriter:
    """The writes of one term of office. ``epoch_version``: of the epoch's node as this controller wrote it."""

    def __init__(self, store: Store, epoch_version: int) -> None:
        self._store = store
        self._check = Check(ControllerEpoch.path(), epoch_version)

    def commit(self, operations: Sequence[Operation]) -> Coroutine[Any, Any, None]:
        """Begin one transaction; await the result for its end.

        Errors, from the result: Deposed; Conflict; StoreError for what has nothing to do with the state of nodes
        (PacketTooLarge, NotAuthorized).
        """
        return self._outcome(operations, self._begin(operations))

    async def commit_all(self, transactions: Sequence[Sequence[Operation]]) -> None:
        """One after the other."""
        for operations in transactions:
            await self.commit(operations)

    def _begin(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        return self._store.multi([self._check, *operations])

    async def _outcome(self, operations: Sequence[Operation], pending: asyncio.Future[list[OperationResult]]) -> None:
        while True:
            try:
                await pending
            except ConnectionLost:
                if await self._took_place(operations[0]):
                    return
                pending = self._begin(operations)
            except TransactionFailed as failed:
                if failed.index == 0:
                    raise Deposed(f"the controller epoch has moved on: {failed.error}") from failed
                raise Conflict(failed.error.path, failed.error) from failed
            except (SessionExpired, StoreClosed) as gone:
                raise Deposed(str(gone)) from gone
            else:
                return

    async def _took_place(self, witness: Operation) -> bool:
        """Whether the transaction that begins with this was carried out, as far as the node tells.

        Where somebody else has changed the node since, it looks as if it was not; the transaction is begun again then,
        and refused by the node's version.
        """
        while True:
            try:
                await self._store.sync(witness.path)
                node = await self._store.get(witness.path)
            except ConnectionLost:
                continue
            except NoNode:
                return isinstance(witness, Delete)
            except (SessionExpired, StoreClosed) as gone:
                raise Deposed(str(gone)) from gone
            if isinstance(witness, Set):
                return node.stat.version == witness.version + 1 and node.data == witness.data
            return isinstance(witness, Create) and node.data == witness.data
