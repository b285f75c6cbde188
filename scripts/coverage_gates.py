"""Compare the coverage of each product with its gate.

python -m scripts.coverage_gates .coverage.json
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from scripts.products import ROOT, product_of

GATES = {
    "kwire": 85,
    "kwire-admin": 66,  # many tests run the command in processes, which coverage does not see
    "kwire-cluster": 86,
    "kwire-pipeline": 80,
    "kwire-zookeeper-tools": 68,  # as the administration, and most tests of its scripts need real brokers
}
"""The least percentage of lines and branches by product: two to three below what was measured on 2026-11-28."""


def percentages(report: Path) -> dict[str, float]:
    """Return the percentage of covered lines and branches of each product by a report of `coverage json`."""
    covered: Counter[str] = Counter()
    countable: Counter[str] = Counter()
    for file, data in json.loads(report.read_text("utf-8"))["files"].items():
        product = product_of(ROOT / file).name
        totals = data["summary"]
        covered[product] += totals["covered_lines"] + totals.get("covered_branches", 0)
        countable[product] += totals["num_statements"] + totals.get("num_branches", 0)
    return {product: 100 * covered[product] / count for product, count in countable.items()}


def main() -> None:
    """Print the coverage of each product, and exit with 1 if one is below its gate."""
    found = percentages(Path(sys.argv[1]))
    for product, gate in GATES.items():
        print(f"{product}: {found.get(product, 0):.1f} %, at least {gate} %")
    if any(found.get(product, 0) < gate for product, gate in GATES.items()):
        sys.exit("coverage: a product is below its gate")


if __name__ == "__main__":
    main()
