"""Dry runs of scripts on real Kafka: generated arguments, first dry and then real, print the same and end alike."""

from __future__ import annotations

import asyncio
import random
import re
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from kwire.client.admin import AdminClient, NewTopic, TopicPartition
from kwire_admin.compat import run_script
from kwire_admin.compat.scripts.consumer_groups import NO_EXECUTE
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_kafka import KafkaCluster

RESETS = """
kafka-consumer-groups --reset-offsets --group {group} --topic {topic} {target}
kafka-consumer-groups --reset-offsets --group {group} --group {group} --topic {topic} {target}
kafka-consumer-groups --reset-offsets --group {group} --all-topics {target}
kafka-consumer-groups --reset-offsets --group {group} --from-file {file}
""".strip().splitlines()
"""Forms that change something with `--execute`, and nothing with `--dry-run`."""
FEATURES = """
kafka-features upgrade --feature {feature}={level}
kafka-features downgrade --feature {feature}={level}
kafka-features downgrade --unsafe --feature {feature}={level}
kafka-features disable --feature {feature}
kafka-features upgrade --metadata {version}
""".strip().splitlines()
"""Forms that change nothing with `--dry-run`."""
WORDS = {
    "group": ("idle", "idle", "busy", "nosuch"),
    "topic": ("dry-scripts", "dry-scripts:0", "dry-scripts:1", "dry-scripts:99", "nosuch", "dry-scripts:x"),
    "target": (
        *("--to-earliest", "--to-latest", "--to-current", "--to-offset 0", "--to-offset 999", "--shift-by 1"),
        *("--shift-by -99", "--to-datetime 2026-11-22T08:00:00.000", "--to-datetime never", "--by-duration P1D"),
    ),
    "file": ("{folder}/good.csv", "{folder}/unknown.csv", "{folder}/nosuch.csv"),
    "feature": ("group.version", "transaction.version", "metadata.version", "nosuch"),
    "level": ("0", "1", "2", "9", "99"),
    "version": ("3.3-IV3", "99.9", "2.8"),
}
SPOKEN = ((r"[Cc]an be (\w+)", r"was \1"), (r"[Cc]an not", "Could not"))
"""Words of a dry run, and those of a real one."""


@pytest.fixture(params=["kafka39", "kafka44"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KafkaCluster]:
    """Return a cluster with a topic, a group with offsets, and a group with a member."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    asyncio.run(_fill(cluster.bootstrap))
    (tmp_path / "good.csv").write_text("dry-scripts,0,1\n", encoding="utf-8")
    (tmp_path / "unknown.csv").write_text("nosuch,0,1\n", encoding="utf-8")
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "busy", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe(["dry-scripts"])
    try:
        eventually_sync(lambda: bool(consumer.poll(0.2) or consumer.assignment()), "the group is active")
        yield cluster
    finally:
        consumer.close()


async def _fill(bootstrap: str) -> None:
    async with await AdminClient.open(bootstrap) as admin:
        if "dry-scripts" not in await admin.list_topics():
            (await admin.create_topics({"dry-scripts": NewTopic(partitions=2, replication_factor=1)})).raise_first()
            await admin.wait_until_created(["dry-scripts"])
        (await admin.alter_group_offsets("idle", {TopicPartition("dry-scripts", 0): 0})).raise_first()


def test_dry_run_of_a_script_is_its_real_run_without_effect(
    cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choices = random.Random(1)
    ended = {0: 0, 1: 0}
    forms = [*RESETS * 10, *FEATURES * 6]
    choices.shuffle(forms)
    for form in forms:
        filled = re.sub(r"\{(\w+)\}", lambda match: choices.choice(WORDS[match[1]]), form)
        script, *words = filled.replace("{folder}", str(tmp_path)).split()
        words += ["--bootstrap-server", cluster.bootstrap]
        real_option = ["--execute"] if form in RESETS else []
        dry = _run(capsys, script, [*words, "--dry-run"])
        real = _run(capsys, script, [*words, *real_option])
        assert dry == real, filled
        ended[real[0]] += 1
    assert min(ended.values()) > 5, ended


def _run(capsys: pytest.CaptureFixture[str], script: str, words: list[str]) -> tuple[int, str, str]:
    code = run_script(script, words)
    printed = capsys.readouterr()
    out, err = printed.out, printed.err.replace(NO_EXECUTE, "")
    for spoken, real in SPOKEN:
        out = re.sub(spoken, real, out)
    # A duration is counted back from now.
    return code, out, err.split("\n", 1)[0]
