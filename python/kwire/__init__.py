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

    from kwire import declare, errors, frame, messages, records, reference
    from kwire.columnar import columns, columns_schema
    from kwire.declare.representation import full_repr
    from kwire.decoder import Decoder
    from kwire.jsonform import from_json, to_json
    from kwire.views import View, find, view

__version__ = "0.1.0"

__all__ = [
    "DeclarationError",
    "DecodeError",
    "Decoder",
    "EncodeError",
    "KwireError",
    "UnsupportedVersion",
    "View",
    "columns",
    "columns_schema",
    "declare",
    "decode",
    "encode",
    "errors",
    "find",
    "frame",
    "from_json",
    "full_repr",
    "messages",
    "plan",
    "records",
    "reference",
    "to_json",
    "validate",
    "view",
]

_MODULES = frozenset(("declare", "errors", "frame", "messages", "records", "reference"))
_MODULE_OF = {
    "Decoder": "kwire.decoder",
    "View": "kwire.views",
    "columns": "kwire.columnar",
    "columns_schema": "kwire.columnar",
    "find": "kwire.views",
    "from_json": "kwire.jsonform",
    "full_repr": "kwire.declare.representation",
    "to_json": "kwire.jsonform",
    "view": "kwire.views",
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
