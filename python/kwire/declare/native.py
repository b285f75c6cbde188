"""The native object layer, where the compiled module is at hand.

Rules of this file: the only place where ``kwire.declare`` touches ``kwire._kwire``. Without it classes work all the
same, slower: the pure-Python methods of ``Struct`` say what the native ones must do.
"""

from __future__ import annotations

from kwire.declare import struct as _struct

try:
    from kwire._kwire import adopt
except ImportError:
    NATIVE = False
else:
    NATIVE = True
    _struct._native_adopt = adopt
