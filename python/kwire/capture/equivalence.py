"""Whether an answer says what the last one said.

Rules of this file: nothing is believed that was not compared. Two answers are the same when their bytes are, once the
correlation id and the controller id are cut out; or when their elements are, in whatever order. The correlation id is
new in every answer by nature, and KRaft brokers name any live broker as controller.

The first is a comparison of memory. The second needs both decoded, so it is asked only when it can be true: the same
elements in another order have the same length and the same sum of bytes.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from struct import unpack_from
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kwire import frame
from kwire.codec import encode
from kwire.declare.introspect import describe, fields
from kwire.declare.introspect import key as declared_key
from kwire.declare.wire_types import ArrayType, StructType
from kwire.errors import KwireError
from kwire.messages import find

if TYPE_CHECKING:
    from kwire.capture.rows import Row
    from kwire.declare import Message, Struct

CORRELATION_ID = 4
"""Bytes of it, at the start of every payload."""


def decode_row(row: Row) -> Message | None:
    """The answer of a row, decoded; None when it has none, or its bytes are not what it says."""
    if row.frame is None:
        return None
    try:
        cls = find(row.dialect, api_key=row.api_key, version=row.api_version, kind="response")
        return frame.decode_response(row.frame, cls, version=row.api_version).message
    except KwireError:
        return None


class _Layout(NamedTuple):
    """A payload in pieces. ``cut``: where its controller id stands, None when nowhere; ``before``, ``after``: the bytes
    around it, without the correlation id.
    """

    size: int
    cut: int | None
    before: bytes
    after: bytes

    @property
    def after_start(self) -> int:
        """Where ``after`` starts."""
        return self.size - len(self.after)

    def sum_of_bytes(self, payload: bytes) -> int:
        """Of what counts in a payload that is laid out like this one."""
        end = self.size if self.cut is None else self.cut
        return _sum_of_bytes(memoryview(payload)[CORRELATION_ID:end]) + _sum_of_bytes(
            memoryview(payload)[self.after_start :]
        )


def _layout_of(row: Row, message: Message | None) -> _Layout:
    payload = row.frame
    assert payload is not None
    cut = _place_of_controller_id(payload, message, row.api_version)
    before = payload[CORRELATION_ID:] if cut is None else payload[CORRELATION_ID:cut]
    return _Layout(len(payload), cut, before, b"" if cut is None else payload[cut + 4 :])


class Answer:
    """What an answer said, kept to be compared with the next ones.

    ``controller_id``: as the answer says; None when its message has no such field.
    """

    __slots__ = ("_layout", "_row_fields", "controller_id")

    def __init__(self, row: Row, message: Message | None) -> None:
        self._row_fields = (row.dialect, row.api_key, row.api_version)
        tells = message is not None and _tells_controller(type(message), row.api_version)
        self.controller_id: int | None = getattr(message, "controller_id", None) if tells else None
        self._layout = _layout_of(row, message)

    def is_said_by(self, row: Row, message: Message | None) -> bool:
        """Whether ``row``, whose frame is given, says the same. ``message``: its decoded form when there is one."""
        payload = row.frame
        assert payload is not None
        layout = self._layout
        if len(payload) != layout.size or (row.dialect, row.api_key, row.api_version) != self._row_fields:
            return False
        if payload.startswith(layout.before, CORRELATION_ID) and payload.startswith(layout.after, layout.after_start):
            return True
        if layout.sum_of_bytes(payload) != _sum_of_bytes(layout.before) + _sum_of_bytes(layout.after):
            return False
        message = message or decode_row(row)
        before = decode_row(row._replace(frame=self.frame(0, 0)))
        if message is None or before is None or not is_equivalent(before, message):
            return False
        # The next one will most likely be in this order. By one assignment: a signal may end us at any moment.
        self._layout = _layout_of(row, message)
        return True

    def controller_id_in(self, payload: bytes) -> int | None:
        """The controller that an answer names which says the same as this one."""
        if self._layout.cut is None:
            return None
        (controller_id,) = unpack_from(">i", payload, self._layout.cut)
        return int(controller_id)

    def frame(self, correlation_id: int, controller_id: int | None) -> bytes:
        """The payload of an answer that says this; its elements as the last one had them."""
        layout = self._layout
        parts = [correlation_id.to_bytes(4, "big", signed=True), layout.before]
        if layout.cut is not None:
            parts += [(controller_id or 0).to_bytes(4, "big", signed=True), layout.after]
        return b"".join(parts)


def _sum_of_bytes(data: bytes | memoryview) -> int:
    """The same for any order of them."""
    if not data:
        return 0
    return int(pc.sum(pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])).as_py())


def _place_of_controller_id(payload: bytes, message: Message | None, version: int) -> int | None:
    """Where the controller id stands in a payload; None when there is none, or we would write other bytes.

    Found by writing the message twice, without the arrays behind the controller id, with two different controllers.
    """
    if message is None or not _tells_controller(type(message), version):
        return None
    names = [field.name for field in fields(type(message))]
    behind = names[names.index("controller_id") + 1 :]
    short = _with(message, **{name: () for name in behind if isinstance(getattr(message, name), tuple)})
    one, other = (encode(_with(short, controller_id=id), version=version) for id in (0, -1))
    place = next(index for index, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    # Header version 1 adds a count of tags, which is one zero byte; where there are tags the comparison below says so.
    header = CORRELATION_ID + describe(type(message)).header_version(version)
    return header + place if payload[header : header + place] == one[:place] else None


def _with(message: Any, **changes: object) -> Message:
    changed: Message = replace(message, **changes)
    return changed


def _tells_controller(cls: type[Message], version: int) -> bool:
    return any(field.name == "controller_id" and field.stands_in(version) for field in fields(cls))


def is_equivalent(before: Message, after: Message) -> bool:
    """Whether two answers differ at most in their controller and in the order of elements that a key tells apart."""
    if type(before) is not type(after):
        return False
    if hasattr(after, "controller_id"):
        before = _with(before, controller_id=after.controller_id)
    return _same(before, after)


def _same(before: Struct, after: Struct) -> bool:
    if before.unknown_tags != after.unknown_tags:
        return False
    return all(
        old == new or (key is not None and old is not None and new is not None and _same_elements(old, new, key))
        for old, new, key in (
            (getattr(before, name), getattr(after, name), key) for name, key in _fields_and_keys(type(after))
        )
    )


def _same_elements(before: tuple[Struct, ...], after: tuple[Struct, ...], key: attrgetter[Any]) -> bool:
    """In any order. Elements that share a key are not told apart, and so never the same in another order."""
    known = {key(element): element for element in before}
    if not len(known) == len(before) == len(after):
        return False
    for element in after:
        old = known.pop(key(element), None)
        if old is None or not (old == element or _same(old, element)):
            return False
    return True


def _fields_and_keys(cls: type[Struct]) -> tuple[tuple[str, attrgetter[Any] | None], ...]:
    """The fields of a struct; beside an array whose order says nothing, what tells its elements apart."""
    known = _KEYS_OF.get(cls)
    if known is None:
        known = _KEYS_OF[cls] = tuple(
            (field.name, _key_of(field.type) if isinstance(field.type, ArrayType) else None) for field in fields(cls)
        )
    return known


_KEYS_OF: dict[type[Struct], tuple[tuple[str, attrgetter[Any] | None], ...]] = {}


def _key_of(array: ArrayType) -> attrgetter[Any] | None:
    if isinstance(array.element, StructType) and (names := declared_key(array.element.struct)):
        return attrgetter(*names)
    return None
