"""The comparison of engine and reference for any message and any bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire import codec, messages, reference, views
from kwire.declare.introspect import fields, key
from tests.proof import view_checks
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


def check_view(cls: Any, version: int, body: bytes) -> None:
    """Check that a view has the error of the reference, or the parts of the message, one by one and found by value."""
    expected = outcome(reference.decode, cls, body, version=version)
    found = outcome(views.view, cls, body, version=version)
    assert found.fault == expected.fault, (found, expected)
    if expected.fault is not None:
        return
    view_checks.check_view(found.value, expected.value, body, version)
    for f in fields(cls):
        elements = getattr(views.view(cls, body, version=version), f.name)
        if isinstance(elements, views.ArrayView) and elements:
            element = getattr(expected.value, f.name)[-1]
            names = key(type(element)) or [part.name for part in fields(type(element))]
            values = {name: getattr(element, name) for name in names}
            assert views.find(elements, **values) == views.find(getattr(expected.value, f.name), **values)


def check_regression(content: bytes) -> None:
    """Replay a regression file: a line with dialect, message, and version, then the body."""
    line, _, body = content.partition(b"\n")
    dialect, name, version = line.decode("ascii").split(" ")
    cls = messages.find(dialect, name=name)
    check(cls, int(version.removeprefix("v")), body)
    check_view(cls, int(version.removeprefix("v")), body)
