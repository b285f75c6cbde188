"""Version ranges as declarations write them."""

from __future__ import annotations

import pytest

from kwire.declare import VersionRange


@pytest.mark.parametrize(
    ("text", "lowest", "highest"), [("0", 0, 0), ("7", 7, 7), ("0-13", 0, 13), ("9+", 9, 32767), ("0-32767", 0, 32767)]
)
def test_range_contains_its_bounds(text: str, lowest: int, highest: int) -> None:
    versions = VersionRange(text)
    assert (versions.lowest, versions.highest) == (lowest, highest)
    assert len(versions) == highest - lowest + 1
    assert lowest in versions
    assert highest in versions
    assert lowest - 1 not in versions
    assert highest + 1 not in versions
    assert "0" not in versions
    assert next(iter(versions)) == lowest
    assert VersionRange(str(versions)) == versions
    assert repr(versions) == f"VersionRange({str(versions)!r})"


@pytest.mark.parametrize("text", ["", "-", "+", "-1", "1-", "0-", "2-1", "1-2-3", "a", "0 - 3", "٣", "0-40000", "1.0"])
def test_invalid_text_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version range"):
        VersionRange(text)


def test_ranges_compare_by_value() -> None:
    assert VersionRange("0-0") == VersionRange("0")
    assert hash(VersionRange("0-0")) == hash(VersionRange("0"))
    assert VersionRange("0") != VersionRange("0-1")
    assert VersionRange("0") != "0"
    assert str(VersionRange("0-0")) == "0"
