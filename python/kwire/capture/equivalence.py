"""Equivalence of responses: whether a response reports the same cluster as the last one.

Two responses are equivalent if their bytes are equal without the correlation id and the controller id, or if their
elements are equal in any order. The correlation id differs in every response, and KRaft brokers name any live broker as
the controller. Hashes are never trusted; everything is compared.

Comparing bytes is a memory comparison. Comparing elements needs both responses decoded, so it is only done if the
lengths and the sums of the bytes are equal, which every reordering preserves.
"""

from __future__ import annotations

from dataclasses import replace
from struct import unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kwire import frame
from kwire.capture.rows import RowKind
from kwire.codec import encode
from kwire.declare.introspect import describe, fields
from kwire.errors import KwireError
from kwire.messages import find
from kwire.metadata.diff import is_equivalent

if TYPE_CHECKING:
    from kwire.capture.rows import Row
    from kwire.declare import Message

CORRELATION_ID_SIZE = 4
"""Bytes of the correlation id at the start of every payload."""


def decode_row(row: Row) -> Message | None:
    """Return the decoded response of a row, or None if it has none or cannot be decoded."""
    if row.frame is None:
        return None
    try:
        cls = find(row.dialect, api_key=row.api_key, version=row.api_version, kind="response")
        return frame.decode_response(row.frame, cls, version=row.api_version).message
    except KwireError:
        return None


class _Layout(NamedTuple):
    """A payload without its correlation id and controller id.

    Attributes:
        size: bytes of the whole payload.
        controller_at: the offset of the controller id, or None.
        before: the bytes from the correlation id to the controller id.
        after: the bytes after the controller id.
    """

    size: int
    controller_at: int | None
    before: bytes
    after: bytes

    @property
    def after_start(self) -> int:
        """The offset of `after`."""
        return self.size - len(self.after)

    def sum_bytes(self, payload: bytes) -> int:
        """Return the sum of the compared bytes of a payload with this layout."""
        end = self.size if self.controller_at is None else self.controller_at
        return _sum_bytes(memoryview(payload)[CORRELATION_ID_SIZE:end]) + _sum_bytes(
            memoryview(payload)[self.after_start :]
        )


def _layout_of(row: Row, message: Message | None) -> _Layout:
    payload = row.frame
    assert payload is not None
    at = _find_controller_id(payload, message, row.api_version)
    before = payload[CORRELATION_ID_SIZE:] if at is None else payload[CORRELATION_ID_SIZE:at]
    return _Layout(len(payload), at, before, b"" if at is None else payload[at + 4 :])


class FullResponse:
    """The last full response to a request, kept to compare later ones with it.

    Attributes:
        controller_id: the controller that the response names; None if its message has no such field.
    """

    __slots__ = ("_layout", "_row_fields", "controller_id")

    def __init__(self, row: Row, message: Message | None) -> None:
        self._row_fields = (row.dialect, row.api_key, row.api_version)
        has_controller = message is not None and _has_controller_id(type(message), row.api_version)
        self.controller_id: int | None = getattr(message, "controller_id", None) if has_controller else None
        self._layout = _layout_of(row, message)

    def matches(self, row: Row, message: Message | None) -> bool:
        """Return whether the response of a row is equivalent to this one.

        Args:
            row: a row with a frame.
            message: its decoded response, if the caller has it.
        """
        payload = row.frame
        assert payload is not None
        layout = self._layout
        if len(payload) != layout.size or (row.dialect, row.api_key, row.api_version) != self._row_fields:
            return False
        if payload.startswith(layout.before, CORRELATION_ID_SIZE) and payload.startswith(
            layout.after, layout.after_start
        ):
            return True
        if layout.sum_bytes(payload) != _sum_bytes(layout.before) + _sum_bytes(layout.after):
            return False
        message = message or decode_row(row)
        before = decode_row(row._replace(frame=self.build_frame(0)))
        if message is None or before is None or not is_equivalent(before, message):
            return False
        # The next response is likely to have this order. One assignment: a signal handler may raise at any point.
        self._layout = _layout_of(row, message)
        return True

    def controller_id_in(self, payload: bytes) -> int | None:
        """Return the controller that an equivalent response names."""
        if self._layout.controller_at is None:
            return None
        (controller_id,) = unpack_from(">i", payload, self._layout.controller_at)
        return int(controller_id)

    def build_frame(self, controller_id: int | None) -> bytes:
        """Return the payload of an equivalent response with correlation id 0, in the order of the latest match."""
        layout = self._layout
        pieces = [bytes(CORRELATION_ID_SIZE), layout.before]
        if layout.controller_at is not None:
            pieces += [(controller_id or 0).to_bytes(4, "big", signed=True), layout.after]
        return b"".join(pieces)


def is_same_poll(row: Row, other: Row) -> bool:
    """Return whether two rows record one poll: the same poller, broker, time, and request, and equivalent responses.

    Correlation ids are ignored: a carried row has none of its own, and tables of other programs may number requests
    differently. A 'same' row has no content, so any response of that time is its response. A request that a table
    lacks equals any.
    """
    if row.polled_at != other.polled_at or row.api_key != other.api_key or row.broker_id != other.broker_id:
        return False
    if row.poller_id != other.poller_id or (row.broker_id < 0 and row.endpoint != other.endpoint):
        return False
    if row.request is not None and other.request is not None and row.request_key[-1] != other.request_key[-1]:
        return False
    if row.frame is not None and other.frame is not None:
        return row.frame[CORRELATION_ID_SIZE:] == other.frame[CORRELATION_ID_SIZE:] or (
            FullResponse(row, decode_row(row)).matches(other, None)
        )
    return _has_response(row) == _has_response(other)


def _has_response(row: Row) -> bool:
    return row.frame is not None or row.kind == RowKind.SAME


def _sum_bytes(data: bytes | memoryview) -> int:
    if not data:
        return 0
    return int(pc.sum(pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])).as_py())


def _find_controller_id(payload: bytes, message: Message | None, version: int) -> int | None:
    """Return the offset of the controller id, or None if there is none or kwire would encode other bytes before it.

    The start of the message is encoded with two different controllers; the first difference is the offset.
    """
    if message is None or not _has_controller_id(type(message), version):
        return None
    names = [field.name for field in fields(type(message))]
    later = names[names.index("controller_id") + 1 :]
    short = _replace(message, **{name: () for name in later if isinstance(getattr(message, name), tuple)})
    one, other = (encode(_replace(short, controller_id=id), version=version) for id in (0, -1))
    offset = next(index for index, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    # Header version 1 adds one zero byte, the number of tags. A header with tags fails the comparison below.
    header = CORRELATION_ID_SIZE + describe(type(message)).header_version(version)
    return header + offset if payload[header : header + offset] == one[:offset] else None


def _replace(message: Any, **changes: object) -> Message:
    changed: Message = replace(message, **changes)
    return changed


def _has_controller_id(cls: type[Message], version: int) -> bool:
    return any(field.name == "controller_id" and field.in_version(version) for field in fields(cls))
