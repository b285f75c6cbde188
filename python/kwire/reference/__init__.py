"""Reference codec in plain Python, used to check the engine and as a fallback.

It interprets the declarations on its own and uses neither plans nor the engine, so that both codecs cannot share a
mistake. `decode`, `encode`, and `validate` have the results and errors of the functions in `kwire`.

    layout       the fields of a version and their minimum sizes
    decoder      bytes to objects
    encoder      objects to bytes
    value_spans  the bytes of each value
"""

from __future__ import annotations

from kwire.reference.decoder import decode, validate
from kwire.reference.encoder import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.reference.value_spans import Span, spans

__all__ = ["Span", "decode", "encode", "spans", "validate"]


def __getattr__(name: str) -> Any:
    """Import `spans` on first use: only tools need it."""
    if name in ("Span", "spans"):
        from kwire.reference import value_spans

        return getattr(value_spans, name)
    raise AttributeError(f"module 'kwire.reference' has no attribute {name!r}")
