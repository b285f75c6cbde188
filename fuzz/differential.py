"""The engine against the reference under Atheris: two bytes choose a message and a version, the rest is a body.

Only the reference is instrumented: it makes every distinction that the engine makes, a line of Python each. Run by
``fuzz.run``; by hand: ``python -m fuzz.differential <corpus> [libFuzzer's options]``.
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
            agreement.check(cls, version, data[2:])

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
