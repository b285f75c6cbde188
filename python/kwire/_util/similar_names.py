"""Names similar to a misspelled one."""

from __future__ import annotations

__all__ = ["similar"]


def similar(name: str, candidates: tuple[str, ...]) -> list[str]:
    """Return the candidates most similar to a misspelled name, best first."""
    from difflib import get_close_matches

    return get_close_matches(name, candidates, n=3, cutoff=0.6)
