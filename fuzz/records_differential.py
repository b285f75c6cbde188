"""Fuzz the engine against the reference for record batches with Atheris, without comparing checksums.

`fuzz.run` runs this module; the command is `python -m fuzz.records_differential CORPUS [libFuzzer options]`.
"""

from __future__ import annotations

import sys


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["kwire.records.reference"]):
        from tests.records.codecs import check_agreement

    def one_input(data: bytes) -> None:
        check_agreement(data, check_crc=False)

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
