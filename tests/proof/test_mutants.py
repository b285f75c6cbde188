"""Damaged bodies, and the results of Kafka's Java classes.

kwire rejects what Java rejects, and rejects more only for a listed reason.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire import DecodeError, to_json
from tests.proof.codecs import BOTH, Codec, through_both
from tests.proof.material import Mutant, canonical, message_class, mutants
from tests.proof.strictness import reason

if TYPE_CHECKING:
    from collections.abc import Callable

REFUSED_BY_JAVA = [mutant for mutant in mutants() if mutant.json is None]
ACCEPTED_BY_JAVA = [mutant for mutant in mutants() if mutant.json is not None]


def decode_error(codec: Codec, mutant: Mutant) -> DecodeError | None:
    """Return the error of `decode`, which must equal the error of `validate`, or None."""
    by_decode, by_validate = (error_of(call, mutant) for call in (codec.decode, codec.validate))
    assert (by_decode and by_decode.args) == (by_validate and by_validate.args), mutant.name
    return by_decode


def error_of(call: Callable[..., object], mutant: Mutant) -> DecodeError | None:
    try:
        call(message_class(mutant.message), mutant.body, version=mutant.version)
    except DecodeError as error:
        return error
    return None


@through_both
def test_bodies_that_java_rejects_are_rejected(codec: Codec) -> None:
    assert len(REFUSED_BY_JAVA) == 1338
    for mutant in REFUSED_BY_JAVA:
        assert decode_error(codec, mutant) is not None, mutant.name


@through_both
def test_bodies_that_java_accepts_are_rejected_only_for_a_listed_reason(codec: Codec) -> None:
    reasons = Counter(
        reason(error, message_class(mutant.message))
        for mutant in ACCEPTED_BY_JAVA
        if (error := decode_error(codec, mutant)) is not None
    )
    assert reasons == {
        "bytes after the message": 237,
        "invalid UTF-8, which Java reads with replacement characters": 216,
        "a negative length or count, which Java reads as null": 17,
        "tags that are not ascending": 8,
        "bits beyond the 32nd in a varint": 1,
        "a tagged field with a value larger than its size": 1,
    }


@through_both
def test_accepted_bodies_have_javas_values(codec: Codec) -> None:
    agreed = 0
    for mutant in ACCEPTED_BY_JAVA:
        if decode_error(codec, mutant) is not None:
            continue
        decoded = codec.decode(message_class(mutant.message), mutant.body, version=mutant.version)
        assert canonical(to_json(decoded, version=mutant.version)) == canonical(mutant.json), mutant.name
        assert frozenset(decoded.unknown_tags.items()) == mutant.unknown_tags, mutant.name
        assert mutant.consumed == len(mutant.body), mutant.name
        assert codec.encode(decoded, version=mutant.version) == mutant.rewritten, mutant.name
        agreed += 1
    assert agreed == 710


def test_both_codecs_raise_the_same_error() -> None:
    for mutant in mutants():
        by_engine, by_reference = (decode_error(codec, mutant) for codec in BOTH)
        assert (by_engine and by_engine.args) == (by_reference and by_reference.args), mutant.name
