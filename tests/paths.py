"""Folders of the repository: tests of products stand at different depths."""

from __future__ import annotations

from pathlib import Path

__all__ = ["DATA", "ROOT"]

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
