"""Files for other programs, generated from the metrics: a dashboard, alert rules, a scrape configuration, and a unit.

`kafka exporter --print` prints them, so that an installation from a wheel needs nothing else.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kwire_admin.exporter.metric_table import metric_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire_admin.exporter.metric_table import Panel

__all__ = ["MONITORING_FILES", "alerts", "dashboard", "query", "scrape_configuration", "unit"]

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


def scrape_configuration() -> str:
    """Return the job of Prometheus, for its section `scrape_configs`."""
    return """\
scrape_configs:
- job_name: kafka
  # The exporter asks brokers at an interval of its own (--interval, 15 s), so a scrape costs them nothing.
  scrape_interval: 15s
  static_configs:
  - targets: ["127.0.0.1:9308"]
  # With --tokens and --certificate:
  # scheme: https
  # authorization: {credentials_file: /etc/prometheus/kwire.token}
  # tls_config: {ca_file: /etc/prometheus/kwire-ca.pem}

rule_files:
- kafka-rules.yml  # kafka exporter --print rules
"""


def unit() -> str:
    """Return the unit of systemd."""
    return """\
[Unit]
Description=Metrics of Kafka clusters for Prometheus
After=network-online.target
Wants=network-online.target

[Service]
User=kwire
Group=kwire
# The file of clusters, in the form of ~/.config/kwire/config.toml: https://kwire.github.io/kwire/how-to/kafka/
Environment=KWIRE_CONFIG=/etc/kwire/config.toml
ExecStart=/opt/kwire/bin/kafka exporter --all-clusters --listen 127.0.0.1:9308
Restart=always
RestartSec=5
NoNewPrivileges=true
PrivateTmp=true
ProtectHome=true
ProtectSystem=strict

[Install]
WantedBy=multi-user.target
"""


MONITORING_FILES: Mapping[str, Callable[[], str]] = {
    "dashboard": dashboard,
    "rules": alerts,
    "scrape": scrape_configuration,
    "unit": unit,
}
"""The texts by the value of the option --print."""
