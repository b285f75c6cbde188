"""Fuzz views against the reference with Atheris. Two bytes choose a message and a version, the rest is a body.

Only the reference is instrumented, as in `fuzz.differential`. `fuzz.run` runs this module; the command is `python -m
fuzz.views CORPUS [libFuzzer options]`.
"""

from __future__ import annotations

import sys


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["kwire.reference"]):
        from fuzz import agreement

    subjects = agreement.subjects()

    def one_input(data: bytes) -> None:
        if len(data) >= 2:
            cls, version = subjects[int.from_bytes(data[:2], "big") % len(subjects)]
            agreement.check_view(cls, version, data[2:])

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
