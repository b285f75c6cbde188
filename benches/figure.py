"""A measured figure with its minimum and its goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of a table of figures.

    Attributes:
        unit: follows the value, such as "x", "%", or "s".
        detail: the measured quantities, with the absolute values of this run, which are not comparable to other runs.
    """

    name: str
    value: float
    unit: str
    at_least: float
    goal: float
    higher_is_better: bool = True
    detail: str = ""

    def verdict(self) -> Literal["goal", "met", "missed"]:
        """Return whether the value reaches the goal, the minimum, or neither."""

        def good(target: float) -> bool:
            return self.value >= target if self.higher_is_better else self.value <= target

        return "goal" if good(self.goal) else "met" if good(self.at_least) else "missed"

    def __str__(self) -> str:
        sign = ">=" if self.higher_is_better else "<="
        targets = f"{sign} {self.at_least:g}, goal {self.goal:g}"
        return f"{self.name}: {self.value:.4g}{self.unit} ({targets}: {self.verdict()}) {self.detail}".rstrip()
