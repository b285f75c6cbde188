"""Voters in the words of an argument."""

from __future__ import annotations

from uuid import UUID

import pytest

from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.verbs.quorum import parse_directory_id


def test_directory_id_has_kafkas_form() -> None:
    assert parse_directory_id("AAAAAAAAAAAAAAAAAAAAAQ") == UUID(int=1)


@pytest.mark.parametrize(
    "text", ["xyz", "", "++++++++++++++++++++++", "AAAAAAAAAAAAAAAAAAAAA/", " AAAAAAAAAAAAAAAAAAAAA"]
)
def test_other_directory_id_is_rejected(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a directory id: write the 22 characters of quorum describe"):
        parse_directory_id(text)
