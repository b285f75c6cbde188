"""Kafka's error codes have the numbers, names, flags, and texts of Kafka.

`tests/data/error-codes-*.tsv.xz` are the tables that the `Errors` class of two releases prints.
"""

from __future__ import annotations

import copy
import lzma
import pickle
import subprocess
import sys
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import MetadataResponse

DATA = Path(__file__).parent.parent / "data"
OLDER, NEWER = "3.9.1", "4.4.0"


def table(release: str) -> list[tuple[int, str, bool, str]]:
    """Return code, name, retriable flag, and text of each error."""
    with lzma.open(DATA / f"error-codes-{release}.tsv.xz", "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return [(int(code), name, retriable == "true", text) for code, name, retriable, text in rows]


@pytest.mark.parametrize("release", [OLDER, NEWER])
def test_codes_names_and_flags_equal_kafkas(release: str) -> None:
    for code, name, retriable, _ in table(release):
        assert (ErrorCode[name], ErrorCode[name].retriable) == (code, retriable)


def test_every_code_exists_in_kafka() -> None:
    assert [int(code) for code in ErrorCode] == [code for code, *_ in table(NEWER)]


def test_texts_are_those_of_the_newer_release() -> None:
    assert ErrorCode.NONE.message == "Success."  # Kafka has no text for it
    assert {code: ErrorCode(code).message for code, *_ in table(NEWER) if code} == {
        code: text for code, _, _, text in table(NEWER) if code
    }


def test_codes_of_newer_brokers_keep_their_number() -> None:
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    code = ErrorCode(32_000)
    assert (code, code.name, code.retriable) == (32_000, "UNKNOWN_32000", False)
    assert code.message == "the error code is unknown to this client"
    assert pickle.loads(pickle.dumps(code)) == code == ErrorCode(32_000) != ErrorCode(32_001)
    assert code not in list(ErrorCode)
    with pytest.raises(ValueError, match="'3' is not a valid ErrorCode"):
        ErrorCode("3")  # type: ignore[arg-type]  # not a number


def test_error_code_fields_accept_members() -> None:
    named = MetadataResponse(brokers=(), topics=(), error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    assert named == MetadataResponse(brokers=(), topics=(), error_code=129)


def test_members_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(ErrorCode.NOT_CONTROLLER)) is ErrorCode.NOT_CONTROLLER


def test_importing_a_message_does_not_import_error_codes() -> None:
    program = (
        "import sys, kwire; from kwire.messages.kafka import MetadataResponse; "
        "sys.exit('kwire.messages.kafka.error_codes' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_table_has_the_interface_of_an_enumeration() -> None:
    """Members are made when they are used, and everything that programs do with an `IntEnum` works."""
    members = list(ErrorCode)

    assert [ErrorCode[member.name] for member in members] == members == list(ErrorCode.__members__.values())
    assert [getattr(ErrorCode, member.name) for member in members] == [ErrorCode(int(member)) for member in members]
    assert all(ErrorCode(int(member)) is member for member in members)
    assert [*reversed(ErrorCode)] == members[::-1]
    assert len(ErrorCode) == len(members)
    table: Any = ErrorCode
    assert 3 in table
    assert 999 not in table
    assert {member.name for member in members} <= set(dir(ErrorCode))
    code = ErrorCode.NOT_CONTROLLER
    assert (code.value, f"{code}", str(code), repr(code)) == (41, "41", "41", "<ErrorCode.NOT_CONTROLLER: 41>")
    assert copy.deepcopy({code: [code]}) == {41: [41]}
    assert isinstance(code, IntEnum)
    assert issubclass(ErrorCode, IntEnum)
    assert hash(code) == hash(41)
    assert pickle.loads(pickle.dumps([code, ErrorCode(9999)])) == [code, 9999]
    assert pickle.loads(pickle.dumps(code)) is code
    with pytest.raises(KeyError):
        ErrorCode["NO_SUCH_ERROR"]
    for change in (
        lambda: table.NO_SUCH_ERROR,
        lambda: setattr(ErrorCode, "NONE", 1),
        lambda: delattr(ErrorCode, "NONE"),
    ):
        with pytest.raises(AttributeError):
            change()
