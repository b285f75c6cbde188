"""A frame as a JSON document, and such a document as bytes.

Rules of this file: what ``decode`` prints, ``encode`` takes, and gives the same bytes for it. A bare body is
Kafka's own JSON form of the message and nothing else. A frame is an object: ``kind``, ``message``, ``version``,
``header`` and ``body`` (both in Kafka's form), ``surplus`` where there is some, ``error`` in the place of what could
not be read, and before all that its line or number in the input.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import kwire
from kwire.cli.names import named
from kwire.cli.sources import BadInput, from_hex
from kwire.declare.introspect import check_version, describe
from kwire.errors import DecodeError, EncodeError, KwireError, UnsupportedVersion
from kwire.messages import UnknownMessage
from kwire.messages.headers import RequestHeader, ResponseHeader

if TYPE_CHECKING:
    from kwire.cli.frames import Frame, FrameKind
    from kwire.declare import Message

# What JSON may hold as it is and a terminal should not be sent: C1 controls, and marks that turn the line around.
_UNSAFE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_text(document: Any, *, indent: int | None = None) -> str:
    """JSON for people and programs: letters as they are, anything that would move_random_leaders a terminal escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def record(frame: Frame) -> dict[str, Any]:
    """A frame as an object."""
    header, body = frame.header, frame.body
    found: dict[str, Any] = {**frame.where, "kind": frame.kind}
    if body is not None:
        found["message"] = body.cls.__name__
        found["version"] = body.version
    if header is not None and (body is not None or frame.is_unknown):
        found["header"] = header.to_json()
    if frame.problem is not None:
        found["error"] = error_record(frame.problem)
    elif body is not None:
        found["body"] = body.to_json()
    if frame.surplus:
        found["surplus"] = frame.surplus.hex()
    if frame.about:
        found["about"] = frame.about
    return found


def error_record(error: KwireError) -> dict[str, Any]:
    """An error as an object: ``kind``, what else is known of it, and the sentence."""
    found: dict[str, Any]
    match error:
        case DecodeError():
            found = {"kind": error.kind, "offset": error.offset, "path": list(error.path)}
            if error.wanted is not None:
                found |= {"wanted": error.wanted, "left": error.left}
        case EncodeError():
            found = {"kind": error.kind, "path": list(error.path)}
        case UnsupportedVersion():
            found = {"kind": "unsupported_version"}
        case UnknownMessage():
            found = {"kind": "unknown_message"}
        case _:
            found = {"kind": "bad_input"}
    return {**found, "text": str(error)}


class Intended(NamedTuple):
    """What a document is to become, as far as the command line says."""

    dialect: str
    kind: FrameKind | None = None
    cls: type[Message] | None = None
    version: int | None = None
    correlation_id: int = 0
    client_id: str | None = None


class Encoded(NamedTuple):
    """The bytes of a document. ``record``: what they are, as ``decode`` reads it from a line."""

    data: bytes
    record: dict[str, Any]


def encoded(document: Any, intended: Intended) -> Encoded:
    """The bytes of a message, or of a frame that ``record`` described. Raises KwireError."""
    if not isinstance(document, dict):
        raise BadInput("no object: a message is one, and so is a frame")
    if "error" in document and "body" not in document:
        raise BadInput("this is the record of an error: there is nothing to encode")
    if not _is_record(document):
        return _encoded(document, {}, intended.kind or "body", intended.cls, intended.version, intended)
    version = document.get("version", intended.version)
    if isinstance(version, bool) or not isinstance(version, int | None):
        raise BadInput(f"no version: {version!r}")
    cls = intended.cls
    if isinstance(document.get("message"), str):
        cls = named(document["message"], intended.dialect, version=version)
    kind = document.get("kind", intended.kind or "body")
    if kind not in ("request", "response", "body"):
        raise BadInput(f"no kind of frame: {kind!r}; there are request, response and body")
    return _encoded(document["body"], document, kind, cls, version, intended)


def _is_record(document: dict[str, Any]) -> bool:
    """No message has a field ``body`` beside one of the others (a test says so)."""
    return "body" in document and ("message" in document or "kind" in document)


def _encoded(
    body: Any,
    around: dict[str, Any],
    kind: FrameKind,
    cls: type[Message] | None,
    version: int | None,
    intended: Intended,
) -> Encoded:
    if cls is None:
        raise BadInput("nothing says which message this is: no field of the document, and no --message")
    if version is None:
        if cls.versions.lowest != cls.versions.highest:
            raise BadInput(f"nothing says which version of {cls.__name__} is wanted: it has {cls.versions}")
        version = cls.versions.lowest
    check_version(cls, version)
    data = kwire.encode(kwire.from_json(cls, body, version=version), version=version)
    if kind == "body":
        return Encoded(data, {"message": cls.__name__, "version": version, "hex": data.hex()})
    if describe(cls).kind != kind:
        raise BadInput(f"{cls.__name__} is no {kind}")
    header_class = RequestHeader if kind == "request" else ResponseHeader
    header_version = describe(cls).header_version(version)
    given = around.get("header", _header(kind, cls, version, intended))
    header = kwire.encode(kwire.from_json(header_class, given, version=header_version), version=header_version)
    surplus = around.get("surplus", "")
    if not isinstance(surplus, str):
        raise BadInput("no hex in surplus")
    payload = header + data + from_hex(surplus)
    return Encoded(payload, {"api_key": cls.api_key, "api_version": version, f"{kind}_hex": payload.hex()})


def _header(kind: FrameKind, cls: type[Message], version: int, intended: Intended) -> dict[str, Any]:
    """The header that the command line asks for, in Kafka's JSON form."""
    if kind == "response":
        return {"correlationId": intended.correlation_id}
    return {
        "requestApiKey": cls.api_key,
        "requestApiVersion": version,
        "correlationId": intended.correlation_id,
        "clientId": intended.client_id,
    }
