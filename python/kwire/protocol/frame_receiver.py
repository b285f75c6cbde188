"""Takes frames out of a stream without copying what it need not: for answers of 4 to 100 MB.

Rules of this file: whoever reads a socket asks for memory, reads into it, and says how much there was. A byte is copied
once, from there into the payload that is handed out; what is left of a frame that had begun moves to the front once per
read. Memory grows with what has arrived, never with what a size promises: four times what is there, and no further than
the frame needs. ``kwire.frame.Splitter`` does the same for chunks that somebody else has read.
"""

from __future__ import annotations

from struct import unpack_from

from kwire.frame import MAX_SIZE, InvalidFrameSize

__all__ = ["FrameReceiver"]

SMALLEST = 64 * 1024
"""Bytes of memory while nothing large comes: a read of most answers."""
GROWTH = 4
PATIENCE = 1_000
"""Frames that needed but a fraction of it, after which large memory is given back."""


class FrameReceiver:
    """``max_size``: bytes that a payload may have; a larger one is refused as soon as its size is there."""

    __slots__ = ("_end", "_error", "_memory", "_unused", "max_size")

    def __init__(self, *, max_size: int = MAX_SIZE) -> None:
        self.max_size = max_size
        self._memory = bytearray(SMALLEST)
        self._end = 0
        self._unused = 0
        self._error: InvalidFrameSize | None = None

    @property
    def partial_bytes(self) -> int:
        """Bytes that are here of a frame that is not complete, its size included."""
        return self._end

    def get_buffer(self) -> memoryview:
        """Where the next bytes go; never empty. Valid until ``received`` is called."""
        return memoryview(self._memory)[self._end :]

    def buffer_updated(self, count: int) -> list[bytes]:
        """That many bytes were put there; the payloads that they complete.

        A refused frame is for ``refusal``: payloads before it are still good.
        """
        memory = self._memory
        start, end = 0, self._end + count
        payloads: list[bytes] = []
        while self._error is None and end - start >= 4:
            (size,) = unpack_from(">i", memory, start)
            if not 0 <= size <= self.max_size:
                self._error = InvalidFrameSize(size, self.max_size)
            elif end - start - 4 < size:
                break
            else:
                with memoryview(memory) as view:
                    payloads.append(bytes(view[start + 4 : start + 4 + size]))
                start += 4 + size
                self._unused = self._unused + 1 if size < len(memory) // GROWTH**2 else 0
        if self._error is not None:
            start = end  # what follows means nothing
        self._keep(start, end)
        return payloads

    @property
    def error(self) -> InvalidFrameSize | None:
        """Why the stream has no meaning any more; None while it has."""
        return self._error

    def _keep(self, start: int, end: int) -> None:
        """Put what is left to the front, of memory that is large enough for more."""
        left = end - start
        memory = self._memory
        if left >= 4:
            (size,) = unpack_from(">i", memory, start)
            wanted = 4 + size
        else:
            wanted = SMALLEST
        if left == len(memory) or (left and end == len(memory) and wanted > len(memory)):
            self._memory = bytearray(max(SMALLEST, min(wanted, GROWTH * max(left, SMALLEST))))
        elif self._unused >= PATIENCE and len(memory) > SMALLEST and left < SMALLEST:
            self._memory = bytearray(SMALLEST)
            self._unused = 0
        elif start == 0:
            self._end = left
            return
        with memoryview(memory) as view:
            self._memory[:left] = view[start:end]
        self._end = left
