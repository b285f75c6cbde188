"""Split a stream into frames with few copies, for responses of up to 100 MB.

The caller gets a buffer, reads into it, and reports how many bytes arrived. Each byte is copied once, from the buffer
to the returned payload; the start of an incomplete frame is moved to the front once per read. The buffer grows with the
data that has arrived, to at most four times that and never beyond the frame, whatever size a frame claims. There is no
buffer before the first read, and none after `release`.
`kwire.frame.Splitter` does the same for chunks that were read elsewhere.
"""

from __future__ import annotations

from struct import unpack_from

from kwire.frame import MAX_SIZE, InvalidFrameSize

MIN_BUFFER = 64 * 1024
"""Bytes of the buffer for small frames: enough for one read of most responses."""
GROWTH = 4
SHRINK_AFTER = 1_000
"""Number of small frames after which a large buffer is released."""


class FrameReceiver:
    """Split a stream into payloads.

    Args:
        max_size: the largest payload in bytes. A larger size is rejected as soon as the four size bytes are there.
    """

    __slots__ = ("_buffer", "_end", "_error", "_small_frames", "max_size")

    def __init__(self, *, max_size: int = MAX_SIZE) -> None:
        self.max_size = max_size
        self._buffer = bytearray()
        self._end = 0
        self._small_frames = 0
        self._error: InvalidFrameSize | None = None

    @property
    def partial_bytes(self) -> int:
        """Bytes of an incomplete frame that have arrived, including the size prefix."""
        return self._end

    @property
    def error(self) -> InvalidFrameSize | None:
        """The invalid size that ended the stream; None while the stream is valid."""
        return self._error

    def get_buffer(self) -> memoryview:
        """Return the buffer for the next read, which is never empty. It is valid until `buffer_updated` is called."""
        if not self._buffer:
            self._buffer = bytearray(MIN_BUFFER)
        return memoryview(self._buffer)[self._end :]

    def release(self) -> None:
        """Release the buffer if no frame is incomplete, since nothing will arrive for long."""
        if not self._end:
            self._buffer = bytearray()

    def buffer_updated(self, count: int) -> list[bytes]:
        """Process `count` bytes that were read into the buffer and return the payloads they complete.

        Check `error` afterwards; payloads before an invalid size are returned.

        Raises:
            ValueError: the buffer has no room for `count` bytes.
        """
        buffer = self._buffer
        if not 0 <= count <= len(buffer) - self._end:
            raise ValueError(f"count={count}: expected 0 to {len(buffer) - self._end}, the size of the buffer")
        start, end = 0, self._end + count
        payloads: list[bytes] = []
        while self._error is None and end - start >= 4:
            (size,) = unpack_from(">i", buffer, start)
            if not 0 <= size <= self.max_size:
                self._error = InvalidFrameSize(size, self.max_size)
            elif end - start - 4 < size:
                break
            else:
                with memoryview(buffer) as view:
                    payloads.append(bytes(view[start + 4 : start + 4 + size]))
                start += 4 + size
                self._small_frames = self._small_frames + 1 if size < len(buffer) // GROWTH**2 else 0
        if self._error is not None:
            start = end  # the rest of the stream cannot be interpreted
        self._compact(start, end)
        return payloads

    def _compact(self, start: int, end: int) -> None:
        """Move the incomplete frame to the front and grow or shrink the buffer if necessary."""
        rest = end - start
        buffer = self._buffer
        if rest >= 4:
            (size,) = unpack_from(">i", buffer, start)
            needed = 4 + size
        else:
            needed = MIN_BUFFER
        if rest == len(buffer) or (rest and end == len(buffer) and needed > len(buffer)):
            self._buffer = bytearray(max(MIN_BUFFER, min(needed, GROWTH * max(rest, MIN_BUFFER))))
        elif self._small_frames >= SHRINK_AFTER and len(buffer) > MIN_BUFFER and rest < MIN_BUFFER:
            self._buffer = bytearray(MIN_BUFFER)
            self._small_frames = 0
        elif start == 0:
            self._end = rest
            return
        with memoryview(buffer) as view:
            self._buffer[:rest] = view[start:end]
        self._end = rest
