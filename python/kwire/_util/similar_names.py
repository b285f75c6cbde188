"""Names similar to a misspelled one."""

from __future__ import annotations

__all__ = ["did_you_mean", "similar"]


def similar(name: str, candidates: tuple[str, ...]) -> list[str]:
    """Return the candidates most similar to a misspelled name, best first."""
    from difflib import get_close_matches

    return get_close_matches(name, candidates, n=3, cutoff=0.6)


def did_you_mean(name: str, candidates: tuple[str, ...]) -> str:
    """Return the most similar candidates as the end of a sentence; empty if none is similar."""
    suggested = similar(name, candidates)
    return f": did you mean {' or '.join(suggested)}?" if suggested else ""
