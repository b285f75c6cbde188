"""Nodes of a cluster, as options name them: an id, or `any`."""

from __future__ import annotations

from kwire.operations.parameters import InvalidArgument


def parse_node(text: str) -> int | None:
    """Return the id of a node; None for `any`.

    Raises:
        InvalidArgument: the text is neither.
    """
    if text == "any":
        return None
    if not text.isdecimal():
        raise InvalidArgument(f"--broker: expected the id of a node or `any`, found {text!r}")
    return int(text)
