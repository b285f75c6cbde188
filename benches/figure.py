"""A figure that has a target: what was reached, beside what was wanted at least and what is the goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a report.

    ``unit`` follows the value ("x", "%", "s"); ``detail`` says what was measured against what, with the absolute
    figures of this run, which mean nothing in another one.
    """

    name: str
    value: float
    unit: str
    at_least: float
    goal: float
    higher_is_better: bool = True
    detail: str = ""

    def verdict(self) -> Literal["goal", "met", "missed"]:
        """Which of its two targets the value reaches."""

        def good(target: float) -> bool:
            return self.value >= target if self.higher_is_better else self.value <= target

        return "goal" if good(self.goal) else "met" if good(self.at_least) else "missed"

    def __str__(self) -> str:
        sign = ">=" if self.higher_is_better else "<="
        targets = f"{sign} {self.at_least:g}, goal {self.goal:g}"
        return f"{self.name}: {self.value:.4g}{self.unit} ({targets}: {self.verdict()}) {self.detail}".rstrip()
