"""Fuzz the engine against the reference with Atheris. Two bytes choose a message and a version, the rest is a body.

Only the reference is instrumented: it has a line of Python for each case that the engine distinguishes. `fuzz.run` runs
this module; the command is `python -m fuzz.differential CORPUS [libFuzzer options]`.
"""

from __future__ import annotations

import sys


def fuzz_bodies(check: str) -> None:
    """Call a function of `fuzz.agreement` with messages, versions, and bodies that Atheris chooses."""
    import atheris

    with atheris.instrument_imports(include=["kwire.reference"]):
        from fuzz import agreement

    subjects = agreement.subjects()
    check_body = getattr(agreement, check)

    def one_input(data: bytes) -> None:
        if len(data) >= 2:
            cls, version = subjects[int.from_bytes(data[:2], "big") % len(subjects)]
            check_body(cls, version, data[2:])

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz_bodies("check")
