"""Tables of the pipeline as the documentation shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_pipeline.tables import Table


def as_markdown(tables: Iterable[Table]) -> str:
    """Return the tables as the documentation shows them."""
    parts = []
    for table in tables:
        rows = "\n".join(f"| `{c.name}` | {c.type} | {c.doc} | {c.unit} |" for c in table.columns)
        parts.append(
            f"### {table.name}\n\n{table.doc}\n\n| column | type | meaning | unit |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)
