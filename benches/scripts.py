"""kwire's replacements of Kafka's scripts beside Kafka's own, as processes from start to end, in turns.

    python -m benches.scripts [--quick]

Both list the topics of one broker of Kafka 3.9.1. Outputs go to a file. The first turn does not count.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from statistics import median

from benches.administration import TOOLS, TOPIC_COMMAND, create_topics, seconds_of
from benches.figure import Figure
from benches.program import print_figures
from kwire.compat import install
from kwire.testing.kafka import Kafka39
from kwire.testing.kafka.jars import jars_of

TOPICS = 20


def run(quick: bool) -> list[Figure]:
    """Measure `kafka-topics --list`."""
    with Kafka39() as cluster, tempfile.TemporaryDirectory() as folder:
        asyncio.run(create_topics(cluster.bootstrap, TOPICS))
        install(Path(folder) / "scripts")
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        arguments = ["--bootstrap-server", cluster.bootstrap, "--list"]
        ours = [str(Path(folder) / "scripts" / "kafka-topics.sh"), *arguments]
        theirs = ["java", "-Xmx256m", "-cp", f"{jars_of(TOOLS)}/*", TOPIC_COMMAND, *arguments]
        mine_output, their_output = Path(folder) / "mine", Path(folder) / "theirs"
        mine, kafka = [], []
        for turn in range(4 if quick else 11):
            times = (seconds_of(ours, mine_output, environment), seconds_of(theirs, their_output, environment))
            if turn:
                mine.append(times[0])
                kafka.append(times[1])
        if mine_output.read_text() != their_output.read_text():
            raise RuntimeError("the outputs differ")
    ratio = median(one / two for one, two in zip(kafka, mine, strict=True))
    detail = f"{median(mine):.2f} s; Kafka's {median(kafka):.2f} s, {TOPICS} topics, processes with start"
    return [Figure("kafka-topics --list, x Kafka's own", ratio, "x", 5, 10, detail=detail)]


if __name__ == "__main__":
    print_figures(
        run, "scripts", "Measure kwire's replacements of Kafka's scripts.", "few rounds, for a first impression"
    )
