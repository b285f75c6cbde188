"""Frames and their parts: header and body, with their class, version, and position.

* Parsing a frame also validates it, without creating message objects. An error is stored in the frame, next to the
  parts before it.
* Offsets count from the start of the frame.
* Accepts the same frames as `kwire.frame`, including the response to an ApiVersions request of an unsupported version
  and surplus bytes after a request.
"""

from __future__ import annotations

from struct import unpack_from

import kwire
from kwire._util.light_typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from kwire.declare.introspect import describe
from kwire.declare.sensitive_fields import has_sensitive_fields
from kwire.errors import DecodeError, KwireError, UnsupportedVersion
from kwire.frame import API_VERSIONS, UNSUPPORTED_VERSION
from kwire.messages import UnknownMessage, find
from kwire.messages.headers import RequestHeader, ResponseHeader
from kwire.versioned import split_version

if TYPE_CHECKING:
    from kwire.declare import Message
    from kwire.reference import Span

FrameKind: TypeAlias = Literal["request", "response", "body"]


class Part(NamedTuple):
    """The header or the body of a frame; `start` is its offset in the frame."""

    cls: type[Message]
    version: int
    data: bytes
    start: int

    @property
    def title(self) -> str:
        return f"{self.cls.__name__} v{self.version}"

    def validate(self) -> DecodeError | None:
        """Return the error of a malformed part, with the offset in the frame; None for a valid one."""
        try:
            kwire.validate(self.cls, self.data, version=self.version)
        except DecodeError as error:
            return self._in_frame(error)
        return None

    def to_json(self, *, hide_secrets: bool = False) -> dict[str, Any]:
        message = kwire.decode(self.cls, self.data, version=self.version)
        return kwire.to_json(message, version=self.version, hide_secrets=hide_secrets)

    def spans(self) -> tuple[list[Span], DecodeError | None]:
        """Return the position of each field in the frame, up to the first error."""
        spans, error = kwire.reference.spans(self.cls, self.data, version=self.version)
        in_frame = [span._replace(start=span.start + self.start, end=span.end + self.start) for span in spans]
        return in_frame, self._in_frame(error) if error else None

    def _in_frame(self, error: DecodeError) -> DecodeError:
        return DecodeError(error.kind, error.offset + self.start, error.path, error.wanted, error.left)


class Frame(NamedTuple):
    """A request, a response, or a bare body.

    Attributes:
        parts: header and body, as far as they are known; for a bare body, the body alone.
        surplus: bytes after the body of a request.
        error: the reason why the frame is malformed or unknown; None for a valid frame.
        position: line, list index, or number of the frame in the input.
        about: further keys of the frame's JSON document.
    """

    kind: FrameKind
    payload: bytes
    parts: tuple[Part, ...] = ()
    surplus: bytes = b""
    error: KwireError | None = None
    position: dict[str, int] = {}  # noqa: RUF012  # never modified
    about: dict[str, Any] = {}  # noqa: RUF012  # never modified

    @property
    def header(self) -> Part | None:
        return self.parts[0] if self.parts and self.kind != "body" else None

    @property
    def body(self) -> Part | None:
        return self.parts[-1] if len(self.parts) > (self.kind != "body") else None

    @property
    def rest_may_be_secret(self) -> bool:
        """True if bytes that belong to no field can hold secrets: unless they follow a valid message without any."""
        return self.error is not None or self.body is None or has_sensitive_fields(self.body.cls)

    @property
    def is_unknown(self) -> bool:
        """True if the message or version is not declared, so that the frame cannot be validated."""
        return isinstance(self.error, (UnknownMessage, UnsupportedVersion))


def parse_body(cls: type[Message], version: int, data: bytes) -> Frame:
    """Parse a body without a header."""
    part = Part(cls, version, data, 0)
    return Frame("body", data, (part,), error=part.validate())


def parse_versioned(cls: type[Message], data: bytes) -> Frame:
    """Parse a message that begins with its version, as in the records of internal topics.

    Raises:
        DecodeError: it does not begin with a version.
    """
    version, start = split_version(cls, data)
    unsupported = _unsupported(cls, version)
    if unsupported is not None:
        return Frame("body", data, error=unsupported)
    part = Part(cls, version, data[start:], start)
    return Frame("body", data, (part,), error=part.validate())


def parse_request(payload: bytes, dialect: str) -> Frame:
    """Parse a request; its header names the message."""
    if len(payload) < 4:
        part = Part(RequestHeader, 1, payload, 0)
        return Frame("request", payload, (part,), error=part.validate())
    api_key, version = unpack_from(">hh", payload)
    try:
        cls = find(dialect, api_key=api_key, kind="request")
    except UnknownMessage as unknown:
        # All versions of the header have the same layout up to and including the client id.
        header = _parse_header(RequestHeader, 1, payload)
        return Frame("request", payload, (header,), error=header.validate() or unknown)
    cls = _with_version(cls, dialect, version)
    header = _parse_header(RequestHeader, describe(cls).header_version(version), payload)
    error = header.validate() or _unsupported(cls, version)
    if error is not None:
        return Frame("request", payload, (header,), error=error)
    body = Part(cls, version, payload[len(header.data) :], len(header.data))
    body_error = body.validate()
    if body_error is not None and body_error.kind == "trailing_bytes" and dialect == "kafka":
        surplus = payload[body_error.offset :]
        body = body._replace(data=payload[body.start : body_error.offset])
        return Frame("request", payload, (header, body), surplus, body.validate())
    return Frame("request", payload, (header, body), error=body_error)


def parse_response(payload: bytes, dialect: str, api_key: int, version: int) -> Frame:
    """Parse the response to a request of `api_key` that was sent in `version`."""
    try:
        cls = find(dialect, api_key=api_key, kind="response")
    except UnknownMessage as unknown:
        return Frame("response", payload, error=unknown)
    cls = _with_version(cls, dialect, version)
    fallback = _unsupported_version_response(payload, cls) if api_key == API_VERSIONS and version > 0 else None
    error = _unsupported(cls, version)
    if error is not None:
        return fallback or Frame("response", payload, error=error)
    header = _parse_header(ResponseHeader, describe(cls).header_version(version), payload)
    header_error = header.validate()
    if header_error is not None:
        return Frame("response", payload, (header,), error=header_error)
    body = Part(cls, version, payload[len(header.data) :], len(header.data))
    body_error = body.validate()
    if body_error is not None and fallback is not None:
        return fallback
    return Frame("response", payload, (header, body), error=body_error)


def _with_version(cls: type[Message], dialect: str, version: int) -> type[Message]:
    """Return the class of the same kind and API key that has `version`; `cls` if no class has it."""
    try:
        return find(dialect, api_key=cls.api_key, version=version, kind=describe(cls).kind)
    except UnknownMessage:
        return cls


def _unsupported(cls: type[Message], version: int) -> KwireError | None:
    return None if version in cls.versions else UnsupportedVersion(cls.__name__, version, str(cls.versions))


def _unsupported_version_response(payload: bytes, cls: type[Message]) -> Frame | None:
    """Parse the response of a broker that does not support the version of an ApiVersions request.

    Such a response has version 0 whatever the request's version. Returns None for any other response.
    """
    if len(payload) < 6 or unpack_from(">h", payload, 4) != (UNSUPPORTED_VERSION,):
        return None
    header, body = Part(ResponseHeader, 0, payload[:4], 0), Part(cls, 0, payload[4:], 4)
    return Frame("response", payload, (header, body), error=body.validate())


def _parse_header(cls: type[Message], version: int, payload: bytes) -> Part:
    """Return the header at the start of a payload; the whole payload if the header is malformed."""
    header = Part(cls, version, payload, 0)
    error = header.validate()
    if error is not None and error.kind == "trailing_bytes":
        return header._replace(data=payload[: error.offset])
    return header
