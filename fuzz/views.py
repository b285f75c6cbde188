"""Fuzz views against the reference with Atheris. Two bytes choose a message and a version, the rest is a body.

`fuzz.run` runs this module; the command is `python -m fuzz.views CORPUS [libFuzzer options]`.
"""

from __future__ import annotations

from fuzz.differential import fuzz_bodies

if __name__ == "__main__":
    fuzz_bodies("check_view")
