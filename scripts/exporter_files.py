"""Write what derives from the metrics of `kafka exporter`: the dashboard, the alert rules, and the table of the page.

    python -m scripts.exporter_files [--check]

`--check` fails if a file is not current.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_admin.exporter.metric_table import metric_table
from kwire_admin.exporter.monitoring_files import alerts, dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "exporter.md"
DASHBOARD = ROOT / "examples" / "exporter" / "dashboard.json"
ALERTS = ROOT / "examples" / "exporter" / "alerts.yml"
BEGIN, END = "<!-- begin of the metrics -->\n", "<!-- end of the metrics -->\n"


def page() -> str:
    """Return the page with the current table of metrics."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + "".join(_rows()) + END + rest.partition(END)[2]


def _rows() -> Iterator[str]:
    yield "| metric | labels | answer | value |\n|---|---|---|---|\n"
    for metric in metric_table().names["kwire"].metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        answer = "" if metric.source is None else metric.source.value
        yield f"| `{metric.name}` | {labels} | {answer} | {metric.help} |\n"


def main() -> None:
    files = {DASHBOARD: dashboard(), ALERTS: alerts(), PAGE: page()}
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        sys.exit(f"not current: {', '.join(map(str, stale))}" if stale else 0)
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
