"""Responses of one connection, in the order of their requests.

| response | entered                               | left                                                       |
|----------|---------------------------------------|------------------------------------------------------------|
| pending  | its request has started a task        | the task is complete, or the connection is lost            |
| complete | the response is known                 | no response before it is pending: it is added to the batch |
| batched  | all responses before it are batched   | `flush`, once for each read, or above `MAX_BATCH` bytes    |
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kwire.cluster.node.listener.connection_limits import InvalidRequest

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kwire.cluster.node.listener.connection_limits import Frame

__all__ = ["MAX_BATCH", "PendingResponse", "ResponseQueue"]

MAX_BATCH = 1 << 16
"""Maximum number of bytes of responses collected for one write; a larger response is written by itself."""


class PendingResponse:
    """A response that waits: for its task, or for the responses before it.

    Attributes:
        occupied: the memory in bytes that it counts for: an estimate for its request, or the size of its frame.
        frame: the response; None until it is complete.
        error: the exception with which its task ended, if any.
        task: the task that completes it, if any.
    """

    __slots__ = ("error", "frame", "occupied", "task")

    def __init__(self, occupied: int, frame: Frame | None = None) -> None:
        self.occupied = occupied
        self.frame = frame
        self.error: BaseException | None = None
        self.task: asyncio.Task[None] | None = None

    @property
    def is_complete(self) -> bool:
        """True once there is a response or an error."""
        return self.frame is not None or self.error is not None


class ResponseQueue:
    """The responses of one connection that are not written yet.

    Args:
        write: writes bytes to the transport.
        add_buffered_bytes: counts the memory of pending responses.

    Attributes:
        pending_bytes: the memory in bytes that pending responses count for.
    """

    __slots__ = ("_add_buffered_bytes", "_batch", "_batch_size", "_pending", "_write", "pending_bytes")

    def __init__(self, write: Callable[[bytes | memoryview], None], add_buffered_bytes: Callable[[int], None]) -> None:
        self._write = write
        self._add_buffered_bytes = add_buffered_bytes
        self._pending: deque[PendingResponse] = deque()
        self._batch: list[bytes] = []
        self._batch_size = 0
        self.pending_bytes = 0

    def __len__(self) -> int:
        """Return the number of responses that are pending, or wait for a pending one."""
        return len(self._pending)

    @property
    def room(self) -> int:
        """Size in bytes of cached responses that may be taken at once; a response behind a pending one waits alone."""
        return 0 if self._pending else MAX_BATCH - self._batch_size

    def add(self, response: Frame) -> None:
        """Add a complete response."""
        if self._pending:
            self.add_pending(PendingResponse(size_of(response), response))
        else:
            self._add_to_batch(response)

    def add_pending(self, pending: PendingResponse) -> None:
        """Add a response that waits."""
        self._pending.append(pending)
        self.pending_bytes += pending.occupied
        self._add_buffered_bytes(pending.occupied)

    def take_complete(self) -> None:
        """Add the responses before the first pending one to the batch.

        Raises:
            BaseException: the error of a task. The responses before it are written, and the response of an
                InvalidRequest.
        """
        while self._pending and self._pending[0].is_complete:
            first = self._pending.popleft()
            self.pending_bytes -= first.occupied
            if first.error is not None:
                if isinstance(first.error, InvalidRequest) and first.error.response is not None:
                    self._add_to_batch(first.error.response)
                self.flush()
                raise first.error
            if first.frame is not None:
                self._add_to_batch(first.frame)

    def _add_to_batch(self, response: Frame) -> None:
        if isinstance(response, bytes) and len(response) <= MAX_BATCH:
            self._batch.append(response)
            self._batch_size += len(response)
            if self._batch_size > MAX_BATCH:
                self.flush()  # this pauses reading, if the client does not read
            return
        self.flush()
        for part in (response,) if isinstance(response, bytes) else response:
            self._write(part)

    def flush(self) -> None:
        """Write the batch."""
        batch = self._batch
        if not batch:
            return
        self._write(batch[0] if len(batch) == 1 else b"".join(batch))
        batch.clear()
        self._batch_size = 0

    def cancel(self) -> None:
        """Cancel the tasks of pending responses, and forget all responses."""
        for pending in self._pending:
            if pending.task is not None:
                pending.task.cancel()
        self._pending.clear()
        self.pending_bytes = 0


def size_of(response: Frame) -> int:
    """Return the number of bytes of a response."""
    return len(response) if isinstance(response, bytes) else sum(map(len, response))
