"""Fuzz the pairing of captured traffic with Atheris. `fuzz.pairing` explains the form of an input.

`fuzz.run` runs this module; the command is `python -m fuzz.conversation CORPUS [libFuzzer options]`.
"""

from __future__ import annotations

import sys


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["kwire.protocol", "kwire.frame"]):
        from fuzz import pairing

    atheris.Setup(sys.argv, pairing.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
