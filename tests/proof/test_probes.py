"""Small bodies made by hand, with the results of Kafka's Java classes."""

from __future__ import annotations

import pytest

from kwire import DecodeError, EncodeError, UnsupportedVersion, to_json
from kwire.messages.headers import RequestHeader
from kwire.messages.kafka import ApiVersionsResponse, MetadataRequest
from tests.for_rows import for_rows
from tests.proof.codecs import Codec, through_both
from tests.proof.material import Probe, canonical, message_class, probes
from tests.proof.strictness import REASONS, reason

STRICTER = {
    "array count -2, nullable": "a negative length or count, which Java reads as null",
    "array count MIN, nullable": "a negative length or count, which Java reads as null",
    "compact count ffffffff0f = -1 -> -2": "a varint of 2^31 or more, which Java reads as negative",
    "compact count 8180808008 = MIN+1 -> MIN": "a varint of 2^31 or more, which Java reads as negative",
    "int16 len -2, nullable": "a negative length or count, which Java reads as null",
    "int16 len MIN, nullable": "a negative length or count, which Java reads as null",
    "compact len -1 (ffffffff0f), nullable": "a varint of 2^31 or more, which Java reads as negative",
    "tag count ffffffff0f (-1)": "a varint of 2^31 or more, which Java reads as negative",
    "tag count 8080808008 (MIN)": "a varint of 2^31 or more, which Java reads as negative",
    "tag count ffffffff7f (bits beyond 32)": "bits beyond the 32nd in a varint",
    "tag count 8080808070 (only bits beyond 32)": "bits beyond the 32nd in a varint",
    "duplicate unknown tag": "tags that are not ascending",
    "descending unknown tags": "tags that are not ascending",
    "tag 3 twice": "tags that are not ascending",
    "tag 3 before tag 1": "tags that are not ascending",
    "unknown tag before known": "tags that are not ascending",
    "known tag 1 then unknown dup order": "tags that are not ascending",
    "tag 3, size says 0": "a tagged field with a value larger than its size",
    "tag 3, size says 5, 1 byte there": "a tagged field with a value larger than its size",
    "tag 3, size -1": "a varint of 2^31 or more, which Java reads as negative",
    "tag 3, size says 2, 2 bytes there": "a tagged field with a value smaller than its size",
    "nullable struct marker 00": "a nullable struct's marker other than 1 and -1",
    "nullable struct marker 02": "a nullable struct's marker other than 1 and -1",
    "nullable struct marker 7f": "a nullable struct's marker other than 1 and -1",
    "nullable struct marker 80": "a nullable struct's marker other than 1 and -1",
    "nullable struct marker fe": "a nullable struct's marker other than 1 and -1",
    "trailing bytes": "bytes after the message",
    "utf8 fffe": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 c080": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 eda080": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 edb080": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 eda0bdedb880": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 f4908080": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 e282": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 c3": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 80": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 f0908d": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 e0808a": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 f0808080": "invalid UTF-8, which Java reads with replacement characters",
    "utf8 61ff62": "invalid UTF-8, which Java reads with replacement characters",
}
"""The probes that Java accepts and kwire rejects, with reasons."""

LAXER = "tag 0 at a version where it is not defined (UpdateMetadataRequest v6, type is v7+? no tags: unknown)"
"""The probe that Java rejects and kwire accepts: in version 6, a tag of version 7 is an unknown tag."""

used = [probe for probe in probes() if probe.version in message_class(probe.message).versions]
each_probe = for_rows("probe", used, ids=[probe.question for probe in used])


def test_every_probe_is_used() -> None:
    assert len(probes()) == 86
    assert set(STRICTER) | {LAXER} <= {probe.question for probe in used}
    assert set(STRICTER.values()) == set(REASONS)


@each_probe
@through_both
def test_kwire_agrees_with_java_except_for_listed_reasons(codec: Codec, probe: Probe) -> None:
    cls = message_class(probe.message)
    if probe.question in STRICTER:
        assert probe.accepted
        with pytest.raises(DecodeError) as caught:
            codec.decode(cls, probe.body, version=probe.version)
        assert reason(caught.value, cls) == STRICTER[probe.question]
    elif probe.accepted:
        decoded = codec.decode(cls, probe.body, version=probe.version)
        assert canonical(to_json(decoded, version=probe.version)) == canonical(probe.json)
        assert probe.consumed == len(probe.body)
    elif probe.question == LAXER:
        assert codec.decode(cls, probe.body, version=probe.version).unknown_tags
    else:
        with pytest.raises(DecodeError):
            codec.decode(cls, probe.body, version=probe.version)


@through_both
def test_undeclared_versions_are_rejected(codec: Codec) -> None:
    beyond = [probe for probe in probes() if probe not in used]
    assert {probe.version for probe in beyond} == {-1, 99}
    for probe in beyond:
        with pytest.raises(
            UnsupportedVersion, match=rf"version {probe.version} is not supported: MetadataRequest has versions 0-13"
        ):
            codec.decode(MetadataRequest, probe.body, version=probe.version)


@through_both
def test_values_that_java_rejects_are_rejected(codec: Codec) -> None:
    """Two values that Java writes are rejected too: a lone surrogate, and an unknown tag with a known number."""

    def encode_error(message: RequestHeader | ApiVersionsResponse, version: int) -> str:
        with pytest.raises(EncodeError) as caught:
            codec.encode(message, version=version)
        return caught.value.kind

    def header(client_id: str) -> RequestHeader:
        return RequestHeader(request_api_key=3, request_api_version=1, correlation_id=7, client_id=client_id)

    assert len(codec.encode(header("a" * 32767), version=1)) == 32777
    assert encode_error(header("a" * 32768), 1) == "too_long"
    assert encode_error(header("a\ud800b"), 1) == "invalid_utf8"

    def tagged(tag: int) -> ApiVersionsResponse:
        return ApiVersionsResponse(error_code=0, api_keys=(), unknown_tags={tag: b"\x01"})

    assert encode_error(tagged(9), 1) == "tag_clash"
    assert encode_error(tagged(3), 3) == "tag_clash"
    assert codec.encode(tagged(9), version=3).endswith(bytes.fromhex("01 09 01 01"))
