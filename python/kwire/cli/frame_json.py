"""Frames as JSON documents, and JSON documents as bytes.

* `encode` accepts what `decode` prints and returns the same bytes.
* A bare body is Kafka's own JSON form of the message.
* A frame is an object with its position in the input, `kind`, `message`, `version`, `header` and `body` in Kafka's
  JSON form, and `surplus`; `error` replaces what could not be decoded.
"""

from __future__ import annotations

import json
import re

import kwire
from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire._util.readable import INVISIBLE
from kwire._util.secret import HIDDEN
from kwire.cli.input_sources import InvalidInput, from_hex
from kwire.declare.introspect import check_version, describe
from kwire.errors import DecodeError, EncodeError, KwireError, UnsupportedVersion
from kwire.messages import UnknownMessage
from kwire.messages.headers import RequestHeader, ResponseHeader

if TYPE_CHECKING:
    from kwire.cli.frames import Frame
    from kwire.cli.message_options import MessageChoice

# Valid in JSON but not safe on a terminal, as in `readable.printable`. JSON itself escapes other characters.
_UNSAFE = re.compile(rf"[\x7f-\x9f\ud800-\udfff{INVISIBLE}]")


def json_text(document: Any, *, indent: int | None = None) -> str:
    """Format a document as JSON; characters that could disturb a terminal are escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda character: json.dumps(character[0]).strip('"'), text)


def frame_document(frame: Frame, *, hide_secrets: bool = False) -> dict[str, Any]:
    """Return the JSON object of a frame. Hidden surplus bytes are replaced by `[hidden]`, as secrets are."""
    header, body = frame.header, frame.body
    document: dict[str, Any] = {**frame.position, "kind": frame.kind}
    if body is not None:
        document["message"] = body.cls.__name__
        document["version"] = body.version
    if header is not None and (body is not None or frame.is_unknown):
        document["header"] = header.to_json()
    if frame.error is not None:
        document["error"] = error_document(frame.error)
    elif body is not None:
        document["body"] = body.to_json(hide_secrets=hide_secrets)
    if frame.surplus:
        document["surplus"] = HIDDEN if hide_secrets and frame.rest_may_be_secret else frame.surplus.hex()
    if frame.about:
        document["about"] = frame.about
    return document


def error_document(error: KwireError) -> dict[str, Any]:
    """Return the JSON object of an error: its `kind`, its attributes, and its `text`."""
    document: dict[str, Any]
    match error:
        case DecodeError():
            document = {"kind": error.kind, "offset": error.offset, "path": list(error.path)}
            if error.wanted is not None:
                document |= {"wanted": error.wanted, "left": error.left}
        case EncodeError():
            document = {"kind": error.kind, "path": list(error.path)}
        case UnsupportedVersion():
            document = {"kind": "unsupported_version"}
        case UnknownMessage():
            document = {"kind": "unknown_message"}
        case _:
            document = {"kind": "bad_input"}
    return {**document, "text": str(error)}


class EncodedFrame(NamedTuple):
    """The bytes of a document, and a `document` with them that `decode` can read."""

    data: bytes
    document: dict[str, Any]


def encode_document(
    document: Any, choice: MessageChoice, *, correlation_id: int = 0, client_id: str | None = None
) -> EncodedFrame:
    """Encode a message, or a frame in the form of `frame_document`.

    Args:
        document: the document; what a frame names overrides the other arguments.
        choice: the message.
        correlation_id: the correlation id of the header.
        client_id: the client id of the header.

    Raises:
        KwireError: the document is invalid.
    """
    if not isinstance(document, dict):
        raise InvalidInput(f"expected a JSON object, found {type(document).__name__}")
    if "error" in document and "body" not in document:
        raise InvalidInput("the document describes an error and has no body to encode")
    frame, body = (document, document["body"]) if _is_frame_document(document) else ({}, document)
    kind = frame.get("kind", choice.kind or "body")
    if kind not in ("request", "response", "body"):
        raise InvalidInput(f"invalid kind {kind!r}: expected request, response, or body")
    cls, version = choice.of_document(frame, needs_version=True)
    assert version is not None
    check_version(cls, version)
    data = kwire.encode(kwire.from_json(cls, body, version=version), version=version)
    if kind == "body":
        return EncodedFrame(data, {"message": cls.__name__, "version": version, "hex": data.hex()})
    if describe(cls).kind != kind:
        raise InvalidInput(f"{cls.__name__} is not a {kind}")
    header_class = RequestHeader if kind == "request" else ResponseHeader
    header_version = describe(cls).header_version(version)
    header_json: dict[str, Any] = {"correlationId": correlation_id}
    if kind == "request":
        header_json |= {"requestApiKey": cls.api_key, "requestApiVersion": version, "clientId": client_id}
    header_json = frame.get("header", header_json)
    header = kwire.encode(kwire.from_json(header_class, header_json, version=header_version), version=header_version)
    surplus = frame.get("surplus", "")
    if not isinstance(surplus, str):
        raise InvalidInput(f"surplus: expected a hex string, found {type(surplus).__name__}")
    payload = header + data + from_hex(surplus)
    return EncodedFrame(payload, {"api_key": cls.api_key, "api_version": version, f"{kind}_hex": payload.hex()})


def _is_frame_document(document: dict[str, Any]) -> bool:
    """Return whether a document is a frame; no message has a field `body`, which a test checks."""
    return "body" in document and ("message" in document or "kind" in document)
