"""Valid bodies, damaged, and what Kafka's Java classes make of them.

kwire is never laxer than Java, and stricter only for a reason.
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


def refusal(codec: Codec, mutant: Mutant) -> DecodeError | None:
    """The error of ``decode``, which must be that of ``validate`` too; None where both accept."""
    by_decode, by_validate = (refusal_of(call, mutant) for call in (codec.decode, codec.validate))
    assert (by_decode and by_decode.args) == (by_validate and by_validate.args), mutant.name
    return by_decode


def refusal_of(call: Callable[..., object], mutant: Mutant) -> DecodeError | None:
    try:
        call(message_class(mutant.message), mutant.body, version=mutant.version)
    except DecodeError as error:
        return error
    return None


@through_both
def test_what_java_refuses_is_refused(codec: Codec) -> None:
    assert len(REFUSED_BY_JAVA) == 871
    for mutant in REFUSED_BY_JAVA:
        assert refusal(codec, mutant) is not None, mutant.name


@through_both
def test_what_java_accepts_is_refused_for_a_stated_reason_or_not_at_all(codec: Codec) -> None:
    reasons = Counter(
        reason(error, message_class(mutant.message))
        for mutant in ACCEPTED_BY_JAVA
        if (error := refusal(codec, mutant)) is not None
    )
    assert reasons == {
        "bytes behind the message": 170,
        "UTF-8 that is none, which Java reads with replacement characters": 133,
        "a negative length or count, which Java takes for null": 14,
        "tags that are not ascending": 6,
    }


@through_both
def test_where_both_accept_the_values_agree(codec: Codec) -> None:
    agreed = 0
    for mutant in ACCEPTED_BY_JAVA:
        if refusal(codec, mutant) is not None:
            continue
        decoded = codec.decode(message_class(mutant.message), mutant.body, version=mutant.version)
        assert canonical(to_json(decoded, version=mutant.version)) == canonical(mutant.json), mutant.name
        assert frozenset(decoded.unknown_tags.items()) == mutant.unknown_tags, mutant.name
        assert mutant.consumed == len(mutant.body), mutant.name
        assert codec.encode(decoded, version=mutant.version) == mutant.rewritten, mutant.name
        agreed += 1
    assert agreed == 342


def test_both_codecs_give_the_same_error() -> None:
    for mutant in mutants():
        by_engine, by_reference = (refusal(codec, mutant) for codec in BOTH)
        assert (by_engine and by_engine.args) == (by_reference and by_reference.args), mutant.name
