"""Connection of struct classes to the compiled module, if it is installed.

Only this module of `kwire.declare` imports `kwire._kwire`. Without it, classes behave the same but are slower: the
Python methods of `Struct` specify what the native ones do.
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
