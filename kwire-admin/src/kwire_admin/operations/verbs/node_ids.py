"""Nodes of a cluster, as options name them: an id, or `any`."""

from __future__ import annotations

from kwire_admin.operations.parameters import INDEX, Syntax

NODE = Syntax(f"any|{INDEX}", "a node: write its id, or any")


def parse_node(text: str) -> int | None:
    """Return the id of a node; None for `any`.

    Raises:
        InvalidArgument: the text is neither.
    """
    return None if NODE.match(text).string == "any" else int(text)
