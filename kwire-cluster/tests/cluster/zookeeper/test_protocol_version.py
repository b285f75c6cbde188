"""Tests of versions of the inter-broker protocol."""

from __future__ import annotations

import pytest

from kwire_cluster.zookeeper.protocol_version import ProtocolVersion


def test_versions_are_ordered_by_release_and_internal_version() -> None:
    texts = ["0.8.2", "0.10.0-IV1", "0.10.0", "1.0", "2.6", "2.7-IV0", "2.7-IV2", "2.7", "2.10", "3.9"]
    versions = list(map(ProtocolVersion.parse, texts))
    assert versions == sorted(versions)
    assert len(set(versions)) == len(versions)
    assert list(map(str, versions)) == texts


def test_first_version_of_a_release_is_below_its_internal_versions() -> None:
    assert ProtocolVersion.parse("2.6") < ProtocolVersion.parse("2.7").first <= ProtocolVersion.parse("2.7-IV0")
    assert ProtocolVersion.parse("2.7-IV1").first == ProtocolVersion.parse("2.7-IV1")


def test_bug_fix_number_is_dropped() -> None:
    assert ProtocolVersion.parse("2.7.1") == ProtocolVersion.parse("2.7")


@pytest.mark.parametrize("text", ["", "2", "2.7-", "2.7-IV", "two", "2.7-iv0", "v2.7", " 2.7", "2.7.1.1.1"])
def test_other_text_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected a release such as 2\.7 or 2\.7-IV0"):
        ProtocolVersion.parse(text)
