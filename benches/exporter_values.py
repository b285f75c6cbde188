"""The values of `kafka exporter`, kafka_exporter, and KMinion, compared with Kafka's own script.

    python -m benches.exporter_values --kafka-exporter PROGRAM --kminion PROGRAM

Three brokers of Kafka 4.4.0 are produced to and consumed from; one of them is killed, and a group is deleted. Once
nothing changes, each committed offset, end of a log, and lag is compared with what `kafka-consumer-groups` prints. The
exporters run beside each other all the time, each with its defaults.
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

from benches.exporter import running_kafka_exporter, running_kminion, running_kwire
from kwire.exporter.metric_table import metric_table
from kwire.testing.kafka import Kafka44
from tests.kafka.exporter_scenario import CONFIG, differences, quiet_after_failures

if TYPE_CHECKING:
    from benches.exporter import Exporter

SETTLE_SECONDS = 90
"""Longer than the long interval of kwire, and than the caches of the others (30 s)."""


async def compare(programs: dict[str, Path]) -> None:
    """Run all exporters through the failures, and print the differences of each."""
    with Kafka44(brokers=3, config=CONFIG) as cluster, ExitStack() as stack:
        exporters: dict[str, tuple[str, Exporter]] = {}
        for names in metric_table().names:
            exporters[f"kwire --names {names}"] = names, stack.enter_context(running_kwire(cluster.bootstrap, names))
        if "kminion" in programs:
            running = running_kminion(programs["kminion"], cluster.bootstrap)
            exporters["KMinion"] = "kminion", stack.enter_context(running)
        if "kafka_exporter" in programs:
            running = running_kafka_exporter(programs["kafka_exporter"], cluster.bootstrap)
            exporters["kafka_exporter"] = "kafka_exporter", stack.enter_context(running)
        async with quiet_after_failures(cluster) as expected:
            await asyncio.sleep(SETTLE_SECONDS)
            for title, (names, exporter) in exporters.items():
                page = await asyncio.to_thread(_read, exporter.url)
                differing = differences(page, names, expected)
                summary = f"{title}: {len(differing)} of {3 * len(expected)} values differ"
                print(summary, *differing[:10], sep="\n  ", flush=True)


def _read(url: str) -> str:
    with urlopen(url, timeout=120) as response:
        page: str = response.read().decode()
    return page


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.exporter_values", description=__doc__.splitlines()[0])
    parser.add_argument("--kafka-exporter", type=Path, help="its program")
    parser.add_argument("--kminion", type=Path, help="its program")
    given = parser.parse_args()
    programs = {"kafka_exporter": given.kafka_exporter, "kminion": given.kminion}
    asyncio.run(compare({name: path for name, path in programs.items() if path is not None}))


if __name__ == "__main__":
    main()
