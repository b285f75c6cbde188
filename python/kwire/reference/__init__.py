"""The codec a second time, in plain Python: to check the engine by, to read, and to fall back on.

Rules of this package: it follows the declarations by itself. It knows neither plans nor the engine, so that a mistake
there cannot be one here; ``layout`` works out once more what stands in a version and how small it can be.

    layout      which fields a version has, and how
    decoder     bytes to objects
    encoder     objects to bytes
    watching    which bytes are which value

``decode``, ``encode`` and ``validate`` are those of ``kwire``, with the same results and the same errors.
"""

from __future__ import annotations

from kwire.reference.decoder import decode, validate
from kwire.reference.encoder import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.reference.watching import Span, spans

__all__ = ["Span", "decode", "encode", "spans", "validate"]


def __getattr__(name: str) -> Any:
    """Tools alone watch, and pay for it."""
    if name in ("Span", "spans"):
        from kwire.reference import watching

        return getattr(watching, name)
    raise AttributeError(f"module 'kwire.reference' has no attribute {name!r}")
