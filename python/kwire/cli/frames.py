"""Frames taken apart: which bytes are the header and which the body, of what class and version.

Rules of this file: a frame is checked when it is taken apart, by the engine, which makes no objects for that. What is
wrong with it is kept as its ``problem``, beside the parts found before. Offsets count from the start of the frame.
What is accepted is what ``kwire.frame`` accepts, the answer to an ApiVersions request of an unknown version and
surplus bytes behind a request included.
"""

from __future__ import annotations

from struct import unpack_from
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import kwire
from kwire.declare.introspect import describe
from kwire.errors import DecodeError, KwireError, UnsupportedVersion
from kwire.frame import API_VERSIONS, UNSUPPORTED_VERSION
from kwire.messages import UnknownMessage, find
from kwire.messages.headers import RequestHeader, ResponseHeader

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.reference import Span

FrameKind: TypeAlias = Literal["request", "response", "body"]


class Part(NamedTuple):
    """A message in a frame: its header, or its body. ``start``: where it begins in the frame."""

    cls: type[Message]
    version: int
    data: bytes
    start: int

    @property
    def title(self) -> str:
        return f"{self.cls.__name__} v{self.version}"

    def check(self) -> DecodeError | None:
        """What is wrong with it, at its place in the frame."""
        try:
            kwire.validate(self.cls, self.data, version=self.version)
        except DecodeError as error:
            return self.moved(error)
        return None

    def to_json(self) -> dict[str, Any]:
        return kwire.to_json(kwire.decode(self.cls, self.data, version=self.version), version=self.version)

    def spans(self) -> tuple[list[Span], DecodeError | None]:
        found, error = kwire.reference.spans(self.cls, self.data, version=self.version)
        moved = [span._replace(start=span.start + self.start, end=span.end + self.start) for span in found]
        return moved, self.moved(error) if error else None

    def moved(self, error: DecodeError) -> DecodeError:
        return DecodeError(error.kind, error.offset + self.start, error.path, error.wanted, error.left)


class Frame(NamedTuple):
    """What was captured. ``parts``: header and body, as far as they could be told; of a bare body, the body alone.

    ``where``: its line, or its number, in the input; ``about``: what the input said of it beside its bytes.
    """

    kind: FrameKind
    payload: bytes
    parts: tuple[Part, ...] = ()
    surplus: bytes = b""
    problem: KwireError | None = None
    where: dict[str, int] = {}  # noqa: RUF012  # nobody writes to it
    about: dict[str, Any] = {}  # noqa: RUF012  # as above

    @property
    def header(self) -> Part | None:
        return self.parts[0] if self.parts and self.kind != "body" else None

    @property
    def body(self) -> Part | None:
        return self.parts[-1] if len(self.parts) > (self.kind != "body") else None

    @property
    def is_unknown(self) -> bool:
        """Whether it may well be right, only nobody here knows its message or version."""
        return isinstance(self.problem, (UnknownMessage, UnsupportedVersion))


def of_body(cls: type[Message], version: int, data: bytes) -> Frame:
    """A body without a header."""
    part = Part(cls, version, data, 0)
    return Frame("body", data, (part,), problem=part.check())


def of_request(payload: bytes, dialect: str) -> Frame:
    """A request, which says in its header what it is."""
    if len(payload) < 4:
        part = Part(RequestHeader, 1, payload, 0)
        return Frame("request", payload, (part,), problem=part.check())
    api_key, version = unpack_from(">hh", payload)
    try:
        cls = find(dialect, api_key=api_key, kind="request")
    except UnknownMessage as error:
        # The client id, and all before it, stands in every version of the header where it stood in the first.
        header = _cut(RequestHeader, 1, payload)
        return Frame("request", payload, (header,), problem=header.check() or error)
    cls = _with_version(cls, dialect, version)
    header = _cut(RequestHeader, describe(cls).header_version(version), payload)
    problem = header.check() or _unsupported(cls, version)
    if problem is not None:
        return Frame("request", payload, (header,), problem=problem)
    body = Part(cls, version, payload[len(header.data) :], len(header.data))
    fault = body.check()
    if fault is not None and fault.kind == "trailing_bytes" and dialect == "kafka":
        surplus = payload[fault.offset :]
        body = body._replace(data=payload[body.start : fault.offset])
        return Frame("request", payload, (header, body), surplus, body.check())
    return Frame("request", payload, (header, body), problem=fault)


def of_response(payload: bytes, dialect: str, api_key: int, version: int) -> Frame:
    """The answer to a request of ``api_key`` that was sent in ``version``."""
    try:
        cls = find(dialect, api_key=api_key, kind="response")
    except UnknownMessage as error:
        return Frame("response", payload, problem=error)
    cls = _with_version(cls, dialect, version)
    refusal = _refusal_of_version(payload, cls) if api_key == API_VERSIONS and version > 0 else None
    problem = _unsupported(cls, version)
    if problem is not None:
        return refusal or Frame("response", payload, problem=problem)
    header = _cut(ResponseHeader, describe(cls).header_version(version), payload)
    faulty = header.check()
    if faulty is not None:
        return Frame("response", payload, (header,), problem=faulty)
    body = Part(cls, version, payload[len(header.data) :], len(header.data))
    fault = body.check()
    if fault is not None and refusal is not None:
        return refusal
    return Frame("response", payload, (header, body), problem=fault)


def _with_version(cls: type[Message], dialect: str, version: int) -> type[Message]:
    """The class of the same kind and key that has ``version``, if one has; a key may have several."""
    try:
        return find(dialect, api_key=cls.api_key, version=version, kind=describe(cls).kind)
    except UnknownMessage:
        return cls


def _unsupported(cls: type[Message], version: int) -> KwireError | None:
    return None if version in cls.versions else UnsupportedVersion(cls.__name__, version, str(cls.versions))


def _refusal_of_version(payload: bytes, cls: type[Message]) -> Frame | None:
    """The answer of a broker that does not know the version of an ApiVersions request, if this is one."""
    if len(payload) < 6 or unpack_from(">h", payload, 4) != (UNSUPPORTED_VERSION,):
        return None
    header, body = Part(ResponseHeader, 0, payload[:4], 0), Part(cls, 0, payload[4:], 4)
    return Frame("response", payload, (header, body), problem=body.check())


def _cut(cls: type[Message], version: int, payload: bytes) -> Part:
    """The header at the start of a payload; all of the payload where the header is wrong."""
    whole = Part(cls, version, payload, 0)
    fault = whole.check()
    if fault is not None and fault.kind == "trailing_bytes":
        return whole._replace(data=payload[: fault.offset])
    return whole
