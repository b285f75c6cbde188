"""What engine and reference must agree on, for any message and any bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire import codec, messages, reference
from kwire.declare.introspect import describe
from tests.proof.outcomes import outcome

if TYPE_CHECKING:
    from typing import Any


def subjects() -> list[tuple[Any, int]]:
    """Every message at every version, always in the same order."""
    return [(cls, version) for cls in messages.every() for version in cls.versions]


def check(cls: Any, version: int, body: bytes) -> None:
    """The same value, or the same error: kind, offset, path, wanted, left. A value becomes the same bytes again."""
    expected = outcome(reference.decode, cls, body, version=version)
    found = outcome(codec.decode, cls, body, version=version)
    assert found == expected, (found, expected)
    validated = outcome(codec.validate, cls, body, version=version)
    assert validated.fault == expected.fault, (validated, expected)
    if expected.fault is not None:
        return
    # Equality forgives 1.0 for 1 and True for 1; texts and bytes do not.
    assert repr(found.value) == repr(expected.value)
    written = reference.encode(expected.value, version=version)
    assert codec.encode(found.value, version=version) == written
    assert codec.encode(expected.value, version=version) == written
    assert codec.decode(cls, written, version=version) == expected.value


def check_regression(content: bytes) -> None:
    """``content``: dialect, message and version in a line, then the body."""
    line, _, body = content.partition(b"\n")
    dialect, name, version = line.decode("ascii").split(" ")
    check(messages.find(dialect, name=name), int(version.removeprefix("v")), body)


def regression(cls: Any, version: int, body: bytes) -> bytes:
    """The content of a file for ``check_regression``."""
    return f"{describe(cls).dialects[0]} {cls.__name__} v{version}\n".encode("ascii") + body
