"""Kafka administration over the wire: messages declared once, a Rust codec, and a Python reference to prove it by.

``decode``, ``encode``, ``validate`` and ``plan`` are here; everything else is found where it lives and imported when
it is asked for: ``kwire.messages``, ``kwire.reference``, ``kwire.frame``, ``kwire.errors``, ``kwire.declare``.
"""

from __future__ import annotations

from kwire.codec import decode, encode, plan, validate
from kwire.errors import DeclarationError, DecodeError, EncodeError, KwireError, UnsupportedVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire import declare, errors, frame, messages, reference
    from kwire.columnar import columns, columns_schema
    from kwire.decoder import Decoder
    from kwire.jsonform import from_json, to_json

__version__ = "0.1.0"

__all__ = [
    "DeclarationError",
    "DecodeError",
    "Decoder",
    "EncodeError",
    "KwireError",
    "UnsupportedVersion",
    "columns",
    "columns_schema",
    "declare",
    "decode",
    "encode",
    "errors",
    "frame",
    "from_json",
    "messages",
    "plan",
    "reference",
    "to_json",
    "validate",
]

if not TYPE_CHECKING:  # or every misspelt name would be Any

    def __getattr__(name: str) -> Any:
        """Import the rest on first use, so that ``import kwire`` stays as cheap as a codec should be."""
        from importlib import import_module

        if name in ("to_json", "from_json"):
            value = getattr(import_module("kwire.jsonform"), name)
        elif name == "Decoder":
            value = import_module("kwire.decoder").Decoder
        elif name in ("columns", "columns_schema"):
            value = getattr(import_module("kwire.columnar"), name)
        elif name in ("declare", "errors", "frame", "messages", "reference"):
            value = import_module(f"kwire.{name}")
        else:
            raise AttributeError(f"module 'kwire' has no attribute {name!r}")
        globals()[name] = value
        return value
