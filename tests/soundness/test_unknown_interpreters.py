"""The engine measures the layout of objects at import and declines one that it does not know."""

from __future__ import annotations

import sys

import pytest

from tests.soundness.children import outcome


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("version", f"it is CPython 3.16, expected 3.{sys.version_info.minor}"),
        ("float", "float.__basicsize__ is "),
        ("member_descriptor", "MemberDescriptorType.__basicsize__ is "),
    ],
)
def test_package_falls_back_and_says_why(name: str, problem: str) -> None:
    warning = outcome("tests.soundness.unknown_interpreters", "use", name)

    assert warning.startswith("using the slow reference codec")
    assert f"kwire._kwire does not know the objects of this interpreter: {problem}" in warning
