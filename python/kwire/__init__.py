"""A fast `kafka` command without Java, and the Python library that it is built on.

Messages are declared once, as typed classes. A Rust codec executes the declarations, and a Python reference proves it
correct. `decode`, `encode`, `validate`, and `plan` are imported at once; everything else is imported on first use.
"""

from __future__ import annotations

from kwire._util.late_names import late_names
from kwire.codec import decode as decode
from kwire.codec import encode as encode
from kwire.codec import plan as plan
from kwire.codec import validate as validate
from kwire.errors import DeclarationError as DeclarationError
from kwire.errors import DecodeError as DecodeError
from kwire.errors import EncodeError as EncodeError
from kwire.errors import KwireError as KwireError
from kwire.errors import UnsupportedVersion as UnsupportedVersion

__version__ = "0.1.0"

_MODULES = {
    "kwire": ("declare", "errors", "frame", "messages", "records", "reference"),
    "kwire.codec": ("decode", "encode", "plan", "validate"),
    "kwire.columnar": ("columns", "columns_schema"),
    "kwire.declare.representation": ("full_repr",),
    "kwire.decoder": ("Decoder",),
    "kwire.errors": ("DeclarationError", "DecodeError", "EncodeError", "KwireError", "UnsupportedVersion"),
    "kwire.jsonform": ("from_json", "to_json"),
    "kwire.partitioner": ("murmur2", "partition_for_key"),
    "kwire.uuids": ("uuid_from_text", "uuid_to_text"),
    "kwire.versioned": ("Versioned", "decode_versioned", "encode_versioned"),
    "kwire.views": ("View", "find", "view"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
