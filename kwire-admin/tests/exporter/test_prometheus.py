"""Prometheus itself reads the exporter: its metrics, and every query of the dashboard and the alert rules."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest

from kwire.testing import FakeCluster
from kwire_admin.exporter.metric_table import metric_table
from scripts import exporter_files
from tests.eventually import eventually_sync
from tests.free_ports import free_ports
from tests.http.server_process import ServerProcess
from tests.http.test_conventions import write_gold

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.programs, pytest.mark.change]


class Prometheus:
    """The HTTP interface of a Prometheus server."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/api/v1"

    def get(self, path: str, **parameters: str) -> Any:
        """Return the data of a response. An invalid query is status 400, which urlopen raises."""
        with urlopen(f"{self._url}/{path}?{urlencode(parameters)}", timeout=60) as response:
            return json.load(response)["data"]

    def samples(self, query: str) -> list[Any]:
        result: list[Any] = self.get("query", query=query)["result"]
        return result


@contextmanager
def prometheus(url: str) -> Iterator[Prometheus]:
    """Run Prometheus with the alert rules, which scrapes a server every second."""
    job = {"job_name": "kafka", "static_configs": [{"targets": [urlsplit(url).netloc]}]}
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(exporter_files.ALERTS)],
        "scrape_configs": [job],
    }
    [port] = free_ports(1)
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        (Path(folder) / "prometheus.yml").write_text(json.dumps(config))  # YAML, too
        command = [
            shutil.which("prometheus") or "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        with subprocess.Popen(command, stdout=log, stderr=log) as process:
            server = Prometheus(port)
            try:
                eventually_sync(lambda: _is_up(server) or process.poll() is not None, "Prometheus scrapes the exporter")
                assert process.poll() is None, (Path(folder) / "log").read_text()
                yield server
            finally:
                process.terminate()


def _is_up(server: Prometheus) -> bool:
    try:
        return [sample["value"][1] for sample in server.samples("up")] == ["1"]
    except OSError:  # it does not listen yet
        return False


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=["orders"], partitions=3) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 20, 2: 30}, {0: 1, 1: 2, 2: 3})
        cluster.set_group("shop", {"orders": {0: 4, 1: 20}}, members=2)
        yield cluster


@pytest.fixture(scope="module")
def exporter(cluster: FakeCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    gold = write_gold(tmp_path_factory.mktemp("gold"))
    options = ("--interval", "1", "--long-interval", "1", "--gold", gold)
    with ServerProcess(cluster.bootstrap, *options, command="exporter") as server:
        eventually_sync(lambda: "kafka_log_dir_size_bytes" in server.get("/metrics").body, "log directories are known")
        yield server


def promtool(*arguments: str | Path, stdin: str = "") -> str:
    """Return what promtool prints, without an error or a warning."""
    command = [shutil.which("promtool") or "promtool", *map(str, arguments)]
    run = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def test_promtool_accepts_metrics_and_rules(exporter: ServerProcess, cluster: FakeCluster) -> None:
    assert {seen.client_id for seen in cluster.requests()} == {"kwire-exporter"}
    answer = exporter.get("/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert promtool("check", "metrics", stdin=answer.body) == ""
    assert f"{len(metric_table().alerts)} rules found" in promtool("check", "rules", exporter_files.ALERTS)


def test_every_query_of_the_dashboard_has_data(exporter: ServerProcess, cluster: FakeCluster) -> None:
    """A broker dies, so that changes and failed requests have rates; what `--gold` has are the incidents."""
    dashboard = json.loads(exporter_files.DASHBOARD.read_text())
    name = cluster.state.cluster_id
    queries = {panel["title"]: panel["targets"][0]["expr"] for panel in dashboard["panels"] if "targets" in panel}
    assert len(queries) == len(metric_table().panels)
    with prometheus(exporter.url) as server:
        for variable in dashboard["templating"]["list"][1:]:
            selector, _, label = variable["query"].removeprefix("label_values(").removesuffix(")").rpartition(", ")
            found = server.get(f"label/{label}/values", **{"match[]": selector.replace("$cluster", name)})
            assert found == {"cluster": [name], "group": ["shop"], "topic": ["orders"]}[variable["name"]]
        cluster.stop_broker(2)
        for title, template in queries.items():
            query = template.replace("$cluster", name).replace("$group", ".*").replace("$topic", ".*")
            eventually_sync(partial(server.samples, query), f"data of {title}: {query}")

        def rules() -> dict[str, tuple[str, str]]:
            [group] = server.get("rules")["groups"]
            return {rule["name"]: (rule["health"], rule["state"]) for rule in group["rules"]}

        assert rules().keys() == {alert.name for alert in metric_table().alerts}
        eventually_sync(lambda: {health for health, _ in rules().values()} == {"ok"}, "every rule was evaluated")
        eventually_sync(lambda: rules()["KafkaBrokerDown"] == ("ok", "pending"), "the alert of the broker")
        assert rules()["KafkaOfflinePartitions"] == ("ok", "inactive")
