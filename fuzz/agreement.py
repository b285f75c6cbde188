"""The comparison of engine and reference for any message and any bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire import codec, messages, reference
from kwire.declare.introspect import describe
from tests.proof.outcomes import outcome

if TYPE_CHECKING:
    from typing import Any


def subjects() -> list[tuple[Any, int]]:
    """Return every message in every version. The order is always the same."""
    return [(cls, version) for cls in messages.every() for version in cls.versions]


def check(cls: Any, version: int, body: bytes) -> None:
    """Check that engine and reference return the same value or error, and encode the value to the same bytes.

    Errors are compared by kind, offset, path, and the bytes wanted and left.
    """
    expected = outcome(reference.decode, cls, body, version=version)
    found = outcome(codec.decode, cls, body, version=version)
    assert found == expected, (found, expected)
    validated = outcome(codec.validate, cls, body, version=version)
    assert validated.fault == expected.fault, (validated, expected)
    if expected.fault is not None:
        return
    # 1.0 and True equal 1, but have another repr and other bytes.
    assert repr(found.value) == repr(expected.value)
    written = reference.encode(expected.value, version=version)
    assert codec.encode(found.value, version=version) == written
    assert codec.encode(expected.value, version=version) == written
    assert codec.decode(cls, written, version=version) == expected.value


def check_regression(content: bytes) -> None:
    """Replay a regression file: a line with dialect, message, and version, then the body."""
    line, _, body = content.partition(b"\n")
    dialect, name, version = line.decode("ascii").split(" ")
    check(messages.find(dialect, name=name), int(version.removeprefix("v")), body)


def regression(cls: Any, version: int, body: bytes) -> bytes:
    """Return the content of a regression file for `check_regression`."""
    return f"{describe(cls).dialects[0]} {cls.__name__} v{version}\n".encode("ascii") + body
