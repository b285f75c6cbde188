"""Write what Kafka's own scripts print: `python -m tests.kafka.write_script_goldens`.

The scripts are those of Kafka 3.9.1, on a broker of each version; Maven Central has no kafka-tools 4.4.0.
"""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path

from kwire_admin.compat.registry import MODULES, find_script
from tests.kafka.kafka_scripts import run_kafkas_own
from tests.kafka.script_cases import CASES, RECORDED_CLUSTER_ID, Outcome, words, write_files
from tests.paths import DATA
from tests.real_kafka import Kafka39, Kafka44, KafkaCluster

FOLDER = DATA / "scripts"
OF_CORE = ("kafka-acls", "kafka-configs")
"""Their classes are in `kafka.admin`, all others in `org.apache.kafka.tools`."""
GROUPS_TIMEOUT_MS = "120000"
"""Timeout of the only script that waits less than a minute by default, 5 s, which is short for a busy machine."""


def main() -> None:
    """Write a file for each version of the broker."""
    FOLDER.mkdir(exist_ok=True)
    for version, kind in (("3.9.1", Kafka39), ("4.4.0", partial(Kafka44, cluster_id=RECORDED_CLUSTER_ID))):
        with kind() as cluster, tempfile.TemporaryDirectory() as files:
            write_files(Path(files), cluster)
            outcomes = [_run(cluster, case, Path(files)) for case in CASES]
        lines = [json.dumps([case, *outcome]) for case, outcome in zip(CASES, outcomes, strict=True)]
        (FOLDER / f"{version}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _run(cluster: KafkaCluster, case: str, files: Path) -> Outcome:
    name, *arguments = words(case, cluster, files)
    assert name in MODULES
    [main, *_] = find_script(name).classes
    assert main.startswith("kafka.admin") == (name in OF_CORE)
    patience = ("--timeout", GROUPS_TIMEOUT_MS) if name == "kafka-consumer-groups" else ()
    done = run_kafkas_own(main, *arguments, *patience)
    return Outcome.of(done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    main()
