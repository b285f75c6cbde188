"""The reference runs its own source and nothing else, so that a proof compares two codecs that share no technique."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import kwire
from kwire import reference
from tests.proof.material import message_class, vectors

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = Path(kwire.__file__).parent


def test_valid_bodies_are_decoded_and_encoded_by_functions_in_files() -> None:
    files: set[str] = set()
    calls = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        if event == "call":
            files.add(frame.f_code.co_filename)
            calls += 1

    for message, cases in vectors().items():
        cls = message_class(message)
        for vector in {vector.version: vector for vector in cases}.values():
            # The functions of a version are created before it is watched: creating them imports and reads declarations.
            decoded = reference.decode(cls, vector.body, version=vector.version)
            reference.encode(decoded, version=vector.version)
            before = calls
            sys.setprofile(note)
            try:
                decoded = reference.decode(cls, vector.body, version=vector.version)
                body = reference.encode(decoded, version=vector.version)
            finally:
                sys.setprofile(None)
            assert body == vector.body
            # Every field is a call when it is read, and another one when it is written.
            assert calls - before > 2 * len(cls.__kwire_names__), vector.name

    own = {file for file in files if Path(file).is_relative_to(PACKAGE)}
    assert {Path(file).name for file in own} >= {"decoder.py", "encoder.py"}
    assert not [file for file in files - own if not Path(file).is_file()], "generated code has no file"
    assert {Path(file).parent.name for file in own} <= {"reference", "declare"}
