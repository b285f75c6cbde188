"""Kafka administration over the wire.

Messages are declared once, as typed classes. A Rust codec executes the declarations, and a Python reference proves it
correct. `decode`, `encode`, `validate`, and `plan` are imported at once; everything else is imported on first use.
"""

from __future__ import annotations

from kwire.codec import decode, encode, plan, validate
from kwire.errors import DeclarationError, DecodeError, EncodeError, KwireError, UnsupportedVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire import declare, errors, frame, messages, reference
    from kwire.columnar import columns, columns_schema
    from kwire.declare.representation import full_repr
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
    "full_repr",
    "messages",
    "plan",
    "reference",
    "to_json",
    "validate",
]

_MODULES = frozenset(("declare", "errors", "frame", "messages", "reference"))
_MODULE_OF = {
    "Decoder": "kwire.decoder",
    "columns": "kwire.columnar",
    "columns_schema": "kwire.columnar",
    "from_json": "kwire.jsonform",
    "full_repr": "kwire.declare.representation",
    "to_json": "kwire.jsonform",
}

if not TYPE_CHECKING:  # otherwise every misspelled name would have type Any

    def __getattr__(name: str) -> Any:
        """Import a public name on first use, which keeps `import kwire` cheap."""
        from importlib import import_module

        if name in _MODULES:
            value = import_module(f"kwire.{name}")
        elif name in _MODULE_OF:
            value = getattr(import_module(_MODULE_OF[name]), name)
        else:
            raise AttributeError(f"module 'kwire' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
