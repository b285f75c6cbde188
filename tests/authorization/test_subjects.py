"""Names of certificates, compared with what Java's `X500Principal.getName()` returns."""

from __future__ import annotations

import pytest

from kwire.authorization.subjects import distinguished_name


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (((("commonName", "alice"),),), "CN=alice"),
        (
            ((("countryName", "DE"),), (("organizationName", "Example"),), (("commonName", "alice"),)),
            "CN=alice,O=Example,C=DE",
        ),
        (((("commonName", "a"), ("userId", "b")),), "CN=a+UID=b"),
        (((("commonName", "a,b=c#d+e"),),), r"CN=a\,b\=c\#d\+e"),
        (((("commonName", " a "),),), r"CN=\ a\ "),
        ((), ""),
    ],
)
def test_name_equals_java_s(subject: tuple[tuple[tuple[str, str], ...], ...], expected: str) -> None:
    assert distinguished_name(subject) == expected
