"""Reference codec in plain Python, used to check the engine and as a fallback.

It interprets the declarations, with one function for each type, and uses neither plans nor the engine, so that both
codecs cannot share a mistake. It has no second, faster way: what proofs and fuzzers compare is what runs. `decode`,
`encode`, and `validate` have the results and errors of the functions in `kwire`.

    layout       the fields of a version and their minimum sizes
    decoder      bytes to objects
    encoder      objects to bytes
    slot_values  the values of slots, read without running their code
    value_spans  the bytes of each value
"""

from __future__ import annotations

from kwire._util.late_names import late_names
from kwire.reference.decoder import decode as decode
from kwire.reference.decoder import validate as validate
from kwire.reference.encoder import encode as encode

_MODULES = {
    "kwire.reference.decoder": ("decode", "validate"),
    "kwire.reference.encoder": ("encode",),
    "kwire.reference.value_spans": ("Span", "spans"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
