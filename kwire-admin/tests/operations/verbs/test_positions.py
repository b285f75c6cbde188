"""Positions in a log, as arguments write them."""

from __future__ import annotations

import pytest

from kwire.client.admin import EARLIEST, LATEST, OffsetSpec
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.positions import parse_position


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", EARLIEST),
        ("latest", LATEST),
        ("12", 12),
        ("1970-01-01T00:00:01+00:00", OffsetSpec(1000)),
        ("1970-01-01T01:00:00.5Z", OffsetSpec(3_600_500)),
    ],
    ids=str,
)
def test_position(text: str, position: object) -> None:
    assert parse_position(text) == position


@pytest.mark.parametrize("text", ["", "-1", "noon", "2026-11-22", "2026-11-22T08:00:00"])
def test_invalid_position_is_rejected(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a position: write earliest, latest, an offset, or a time"):
        parse_position(text)
