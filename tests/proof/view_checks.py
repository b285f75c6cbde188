"""The comparison of a view with the message of the same bytes."""

from __future__ import annotations

from typing import Any

import kwire
from kwire import codec, reference
from kwire.declare.introspect import fields
from kwire.declare.representation import short_value
from kwire.declare.struct import comparable
from kwire.views import ArrayView


def check_view(view: Any, message: Any, body: bytes, version: int) -> None:
    """Assert that a view of `body` has the values and the bytes of the message, field by field and as a whole."""
    cls = type(message)
    assert isinstance(view, cls)
    for f in fields(cls):
        check_part(getattr(view, f.name), getattr(message, f.name))
        assert getattr(view, f.name) is getattr(view, f.name)
    assert view.unknown_tags == message.unknown_tags
    fresh = kwire.view(cls, body, version=version)
    assert fresh == message
    assert message == fresh
    assert fresh == view
    assert hash(fresh) == hash(message)
    assert kwire.full_repr(fresh).removeprefix(f"{cls.__qualname__}View") == kwire.full_repr(message).removeprefix(
        cls.__qualname__
    )
    assert codec.encode(fresh, version=version) == codec.encode(message, version=version)
    assert reference.encode(fresh, version=version) == reference.encode(message, version=version)


def check_part(part: Any, expected: Any) -> None:
    """Assert that a field of a view equals the message's, in types too: 1 equals True, but prints as 1."""
    if isinstance(part, ArrayView):
        # Backwards, because an iteration decodes several elements at once.
        assert [part[-1 - index] for index in range(len(part))] == list(reversed(expected))
        part = tuple(part)
    assert short_value(part) == short_value(expected)
    assert comparable(part) == comparable(expected)
    assert hash(comparable(part)) == hash(comparable(expected))
