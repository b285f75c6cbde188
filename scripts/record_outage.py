"""Record an outage for docs/how-to/outage.md, from `kill -9` of a broker to Alertmanager and the report.

    python -m scripts.record_outage [--rounds 5]

Kafka 4.4 with three brokers, Debian's Alertmanager, and `kwire pipeline ingest --stream` run on this machine. Each
round kills a broker, waits until Alertmanager has the alert, and starts the broker again. Only folders are edited.
kwire-admin/tests/kafka/test_outage.py records a round again and compares it, without its numbers.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from tests.eventually import eventually_sync
from tests.free_ports import free_ports
from tests.real_kafka import Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parents[1] / "docs" / "how-to" / "outage"
GOLD_EVERY, INTERVAL = 30, 0.5
"""Seconds between builds of gold, and between polls of a broker."""
LONGEST_WAIT = 300.0
INCIDENTS = "SELECT kind, broker_id, began_at, ended_at, partition_count AS partitions, cause FROM incidents ORDER BY 3"

Alert = dict[str, Any]


class Recording(NamedTuple):
    """A recorded outage.

    Attributes:
        alert: the alert of the first round, as Alertmanager returns it.
        incidents: the output of `kwire pipeline sql` about the incidents of all rounds.
        report: the output of `kwire report`.
        delays: for each round, the seconds from the kill to the alert in Alertmanager.
    """

    alert: Alert
    incidents: str
    report: str
    delays: list[float]

    @property
    def times(self) -> str:
        """The delays as the page shows them."""
        rounds = ", ".join(f"{delay:.1f}" for delay in sorted(self.delays))
        return f"median {statistics.median(self.delays):.1f} s of {len(self.delays)} outages: {rounds}\n"

    def write(self, folder: Path) -> None:
        """Write the files of the page."""
        texts = {
            "alert.json": json.dumps(self.alert, indent=2) + "\n",
            "incidents.txt": self.incidents,
            "report.txt": self.report,
            "times.txt": self.times,
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Write the recording."""
    parser = argparse.ArgumentParser(prog="python -m scripts.record_outage", description="Record an outage.")
    parser.add_argument("--rounds", type=int, default=5, help="number of outages [default: 5]")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="kwire-outage-") as folder:
        recording = recorded(Path(folder), given.rounds)
    recording.write(FOLDER)
    print(recording.times, end="")


def recorded(folder: Path, rounds: int) -> Recording:
    """Return the recording of new outages."""
    with Kafka44(brokers=3) as cluster, alertmanager(folder) as url:
        admin = Path(sys.executable).with_name("kafka")
        topic = ("topics", "create", "orders", "--partitions", "12", "--replication-factor", "3")
        subprocess.run([admin, *topic, "-b", cluster.bootstrap], check=True, stdout=subprocess.DEVNULL)
        alert: Alert = {}
        delays = []
        with live_pipeline(folder, cluster.bootstrap, url):
            for number in range(rounds):
                broker = cluster.brokers[1 + number % 2]
                killed = time.monotonic()
                broker.kill()
                [firing] = eventually_sync(lambda: alerts(url), "an alert", within=LONGEST_WAIT)
                delays.append(time.monotonic() - killed)
                alert = alert or firing
                broker.start()
                eventually_sync(lambda: not alerts(url), "the end of the alert", within=LONGEST_WAIT)
    incidents = printed("pipeline", "sql", "--out", f"{folder}/tables", INCIDENTS)
    report = printed("report", "--gold", f"{folder}/tables", f"{folder}/report.html")
    return Recording(alert, incidents, report.replace(str(folder), "/data"), delays)


@contextmanager
def alertmanager(folder: Path) -> Iterator[str]:
    """Run an Alertmanager that sends nothing, and yield its URL."""
    config = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}
    (folder / "alertmanager.yml").write_text(json.dumps(config))  # YAML, too
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    command = [
        shutil.which("prometheus-alertmanager") or "prometheus-alertmanager",
        f"--config.file={folder}/alertmanager.yml",
        f"--storage.path={folder}/alertmanager",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with (folder / "alertmanager.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            eventually_sync(lambda: page(f"{url}/-/ready"), "Alertmanager is ready")
            yield url
        finally:
            server.terminate()


@contextmanager
def live_pipeline(folder: Path, bootstrap: str, url: str) -> Iterator[None]:
    """Run a live pipeline that sends its incidents to an Alertmanager, and wait until it has built gold."""
    sinks = {"sinks": [{"type": "alertmanager", "url": url}]}
    (folder / "sinks.yaml").write_text(json.dumps(sinks))
    [port] = free_ports(1)
    options = {
        "--bootstrap": bootstrap,
        "--out": f"{folder}/tables",
        "--interval": INTERVAL,
        "--every": 1,
        "--gold-every": f"{GOLD_EVERY}s",
        "--sinks": f"{folder}/sinks.yaml",
        "--metrics": f"127.0.0.1:{port}",
    }
    words = [str(word) for option in options.items() for word in option]
    command = [sys.executable, "-m", "kwire", "pipeline", "ingest", "--stream", *words]
    log = folder / "pipeline.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as job:
        try:
            metric = "kwire_pipeline_gold_build_seconds"

            def has_built() -> bool:
                assert job.poll() is None, log.read_text()
                samples = dict(line.rsplit(" ", 1) for line in page(f"http://127.0.0.1:{port}/metrics").splitlines())
                return float(samples.get(metric, 0)) > 0

            eventually_sync(has_built, "a build of gold", within=LONGEST_WAIT)
            yield
        finally:
            job.send_signal(signal.SIGINT)
            job.wait(LONGEST_WAIT)


def alerts(url: str) -> list[Alert]:
    """Return the alerts that fire."""
    found: list[Alert] = json.loads(page(f"{url}/api/v2/alerts?active=true"))
    return found


def page(url: str) -> str:
    """Return a page; empty if nothing listens yet."""
    try:
        with urlopen(url) as response:
            text: str = response.read().decode()
    except URLError:
        return ""
    return text


def printed(*arguments: str) -> str:
    """Return the output of a command of kwire."""
    done = subprocess.run([sys.executable, "-m", "kwire", *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
