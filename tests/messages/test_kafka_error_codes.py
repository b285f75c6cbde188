"""Kafka's error codes: the same numbers, names, flags and sentences as in Kafka itself.

``tests/data/error-codes-*.tsv.xz`` are the tables of two releases, as the ``Errors`` class of each prints them.
"""

from __future__ import annotations

import lzma
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.metadata import MetadataResponse

DATA = Path(__file__).parent.parent / "data"
OLDER, NEWER = "3.9.1", "4.4.0"


def table(release: str) -> list[tuple[int, str, bool, str]]:
    """Code, name, retriable, text."""
    with lzma.open(DATA / f"error-codes-{release}.tsv.xz", "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return [(int(code), name, retriable == "true", text) for code, name, retriable, text in rows]


@pytest.mark.parametrize("release", [OLDER, NEWER])
def test_numbers_names_and_flags_are_kafkas(release: str) -> None:
    for code, name, retriable, _ in table(release):
        assert (ErrorCode[name], ErrorCode[name].retriable) == (code, retriable)


def test_there_is_no_code_that_kafka_has_not() -> None:
    assert [int(code) for code in ErrorCode] == [code for code, *_ in table(NEWER)]


def test_sentences_are_those_of_the_newer_release() -> None:
    assert ErrorCode.NONE.text == "Success."  # Kafka has no text for it
    assert {code: ErrorCode(code).text for code, *_ in table(NEWER) if code} == {
        code: text for code, _, _, text in table(NEWER) if code
    }


def test_a_known_number_gets_its_name_and_another_stays_a_number() -> None:
    assert ErrorCode.of(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ErrorCode.of(-1) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert type(ErrorCode.of(32_000)) is int
    assert ErrorCode.of(32_000) == 32_000


def test_a_message_takes_a_code_by_its_name() -> None:
    named = MetadataResponse(brokers=(), topics=(), error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    assert named == MetadataResponse(brokers=(), topics=(), error_code=129)


def test_a_code_stays_itself_in_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(ErrorCode.NOT_CONTROLLER)) is ErrorCode.NOT_CONTROLLER


def test_who_uses_messages_does_not_pay_for_the_table() -> None:
    program = (
        "import sys, kwire; from kwire.messages.kafka import MetadataResponse; "
        "sys.exit('kwire.messages.kafka.error_codes' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
