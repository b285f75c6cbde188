"""Draw the pictures of the documentation from real output: docs/pictures.

    python -m scripts.pictures

A terminal is an SVG, which tests draw again and compare. Pages are pictures of Chromium. Kafka and Spark run for them,
so this needs Java 17, Maven, and Chromium.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import confluent_kafka
from rich.console import Console
from rich.text import Text

from kwire.client import BlockingAdminClient
from kwire.client.admin import NewTopic, TopicDescription, TopicPartition
from tests.browser import open_page
from tests.cli.running import kwire_on_terminal
from tests.eventually import eventually_sync
from tests.http.server_process import ServerProcess
from tests.real_kafka import Kafka44

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
RECORDING = ROOT / "tests" / "data" / "tapes" / "kraft44-public.parquet"

BODY = "02000000000000000000000000000000000c627261766f2d73686f727400010000"
HEX_DUMP = (f"kwire decode --message MetadataRequest --version 12 --output hexdump {BODY}",)
ADMINISTRATION = (
    "kafka topics describe orders",
    "kafka groups lag billing --partitions",
    "kafka cluster health",
)
"""The commands of two pictures. Broker 3 is down in the second one."""
ASSIGNMENT = {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2], 3: [1, 3, 2]}
OFFSETS = "__consumer_offsets"
OFFSETS_ASSIGNMENT = {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
VARYING = (
    (r"127\.0\.0\.1:\d{5}", "10.0.0.103:9092"),
    (r"(?<=of leader )\d", "1"),
    (r"\b\d\d(?= s ago)", "15"),
)
"""Regular expressions of texts that differ between runs, with replacements of the same length: cells are as wide."""
PRODUCED = (120, 80, 95, 60)
COMMITTED = (120, 31, 95, 12)
"""Records and committed offsets of each partition."""

FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, Menlo, Consolas, monospace; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's format without its fonts, which are on another host."""


def main() -> None:
    """Write all pictures."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "decode.svg").write_text(hex_dump_terminal(), encoding="utf-8")
    with broken_cluster() as cluster:
        (PICTURES / "kafka.svg").write_text(kafka_terminal(cluster), encoding="utf-8")
        with ServerProcess(cluster.bootstrap) as server:
            _photograph(server.url, PICTURES / "http.png", ready="body:has(#groups td):has(#problems td) #topics td")
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        command = [sys.executable, "-m", "kwire", "report", str(report), "--capture", str(RECORDING)]
        subprocess.run(command, check=True)
        _photograph(report.as_uri(), PICTURES / "report.png", ready="h1")
        _photograph(report.as_uri(), PICTURES / "report-dark.png", ready="h1", color_scheme="dark")


def terminal(title: str, commands: tuple[str, ...], columns: int, variables: Mapping[str, str] | None = None) -> str:
    """Return commands and what they print on a terminal, as SVG."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for number, command in enumerate(commands):
        name, *arguments = shlex.split(command)
        run = kwire_on_terminal(*arguments, COLUMNS=str(columns), LINES="60", **(variables or {}))
        console.print(Text.assemble("" if number == 0 else "\n", ("$ ", "dim"), (command, "bold")), highlight=False)
        shown = run.out.rstrip("\n")
        for pattern, replacement in VARYING:
            shown = re.sub(pattern, replacement, shown)
        console.print(Text.from_ansi(shown), highlight=False)
        assert name in ("kwire", "kafka")
    return console.export_svg(title=title, code_format=FORMAT, unique_id="kwire")


def hex_dump_terminal() -> str:
    """Return the picture of a hex dump."""
    return terminal("kwire decode", HEX_DUMP, 114)


def kafka_terminal(cluster: Kafka44) -> str:
    """Return the picture of the command `kafka` on a cluster with a broker that is down."""

    def is_behind() -> bool:
        """Return whether the voter of the broker has been silent for a time of two digits."""
        run = kwire_on_terminal("cluster", "health", COLUMNS="200", KWIRE_BOOTSTRAP=cluster.bootstrap)
        return re.search(r"\b\d\d s ago", run.out) is not None

    eventually_sync(is_behind, "the voter is behind", within=90)
    return terminal("kafka", ADMINISTRATION, 84, {"KWIRE_BOOTSTRAP": cluster.bootstrap})


@contextmanager
def broken_cluster() -> Iterator[Kafka44]:
    """Start a cluster with a topic and a group that is behind, and stop one broker."""
    # Other values than in small test clusters, so that the replicas of each partition are known.
    with Kafka44(brokers=3, config={"offsets.topic.replication.factor": "3"}) as cluster:
        with BlockingAdminClient(cluster.bootstrap) as admin:
            # Brokers would choose the replicas of the offsets at random.
            offsets_topic = NewTopic(assignment=OFFSETS_ASSIGNMENT, configs={"cleanup.policy": "compact"})
            admin.create_topics({"orders": NewTopic(assignment=ASSIGNMENT), OFFSETS: offsets_topic}).raise_first()
            admin.wait_until_created({"orders": len(ASSIGNMENT)})
            producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
            for partition, records in enumerate(PRODUCED):
                for _ in range(records):
                    producer.produce("orders", b"record", partition=partition)
            assert producer.flush(60) == 0
            offsets = {TopicPartition("orders", partition): offset for partition, offset in enumerate(COMMITTED)}
            admin.alter_group_offsets("billing", offsets).raise_first()
            cluster.brokers[2].stop()

            def is_out_of_sync() -> bool:
                topic = admin.describe_topics(["orders"])["orders"]
                return isinstance(topic, TopicDescription) and all(3 not in part.isr for part in topic.partitions)

            eventually_sync(is_out_of_sync, "broker 3 is in no ISR", within=60)
        yield cluster


def _photograph(url: str, file: Path, *, ready: str, color_scheme: Literal["light", "dark"] = "light") -> None:
    with open_page() as page:
        page.emulate_media(color_scheme=color_scheme)
        page.set_viewport_size({"width": 1200, "height": 700})
        page.goto(url)
        page.locator(ready).first.wait_for()
        page.screenshot(path=file)


if __name__ == "__main__":
    main()
