"""Kafka administration over the wire.

Messages are declared once, as typed classes. A Rust codec executes the declarations, and a Python reference proves it
correct. `decode`, `encode`, `validate`, and `plan` are imported at once; everything else is imported on first use.
"""

from __future__ import annotations

from kwire.codec import decode, encode, plan, validate
from kwire.errors import DeclarationError, DecodeError, EncodeError, KwireError, UnsupportedVersion
from kwire.late_names import late_names

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

__getattr__, __dir__ = late_names(__name__)
