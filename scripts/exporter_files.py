"""Write what derives from the metrics of `kafka exporter`: the dashboard, the alert rules, and the table of the page.

    python -m scripts.exporter_files [--check]

`--check` fails if a file is not current.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.exporter.metric_table import metric_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.exporter.metric_table import Panel

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "exporter.md"
DASHBOARD = ROOT / "examples" / "exporter" / "dashboard.json"
ALERTS = ROOT / "examples" / "exporter" / "alerts.yml"
BEGIN, END = "<!-- begin of the metrics -->\n", "<!-- end of the metrics -->\n"
COLUMNS, WIDTH, HEIGHT = 3, 8, 7
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> str:
    """Return the dashboard of Grafana as JSON."""
    panels: list[dict[str, Any]] = []
    y = 0
    rows = dict.fromkeys(panel.row for panel in metric_table().panels)
    for row in rows:
        panels.append({"type": "row", "title": row, "collapsed": False, "gridPos": _place(0, y, 24, 1), "panels": []})
        y += 1
        of_row = [panel for panel in metric_table().panels if panel.row == row]
        for number, panel in enumerate(of_row):
            place = _place(number % COLUMNS * WIDTH, y + number // COLUMNS * HEIGHT, WIDTH, HEIGHT)
            panels.append(_panel(panel, place))
        y += -(-len(of_row) // COLUMNS) * HEIGHT
    for number, panel_object in enumerate(panels, start=1):
        panel_object["id"] = number
    return _json(
        {
            "title": "Kafka (kwire)",
            "uid": "kwire-kafka",
            "schemaVersion": 39,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "tags": ["kafka"],
            "templating": {
                "list": [
                    {"name": "datasource", "type": "datasource", "query": "prometheus"},
                    _variable("cluster", "label_values(kwire_exporter_cluster_up, cluster)", multiple=False),
                    _variable("group", 'label_values(kafka_group_info{cluster="$cluster"}, group)', multiple=True),
                    _variable(
                        "topic", 'label_values(kafka_topic_partitions{cluster="$cluster"}, topic)', multiple=True
                    ),
                ]
            },
            "panels": panels,
        }
    )


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def query(panel: Panel, cluster: str = "$cluster") -> str:
    """Return the query of a panel with the name of a cluster."""
    return panel.query.replace("{$cluster", f'{{cluster="{cluster}"')


def _panel(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": panel.title,
        "datasource": DATASOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{"refId": "A", "datasource": DATASOURCE, "expr": query(panel), "legendFormat": panel.legend}],
    }


def _variable(name: str, values: str, *, multiple: bool) -> dict[str, Any]:
    every = {"includeAll": True, "multi": True, "allValue": ".*"} if multiple else {}
    return {"name": name, "type": "query", "datasource": DATASOURCE, "query": values, "refresh": 2, **every}


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"


def alerts() -> str:
    """Return the rules of Prometheus as YAML, whose strings JSON quotes as well."""
    lines = ["groups:", "- name: kafka", "  rules:"]
    for alert in metric_table().alerts:
        lines += [
            f"  - alert: {alert.name}",
            f"    expr: {json.dumps(alert.condition)}",
            f"    for: {alert.duration}",
            f"    labels: {{severity: {alert.severity}}}",
            f"    annotations: {{summary: {json.dumps(alert.summary)}}}",
        ]
    return "\n".join(lines) + "\n"


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
