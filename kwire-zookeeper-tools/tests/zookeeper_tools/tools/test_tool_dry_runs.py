"""Dry runs of tools: generated arguments on nodes in memory, first dry and then real, print the same and end alike."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from kwire_admin.operations.declaration import Unhealthy
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.registry import find_verb
from kwire_admin.operations.run import Run
from tests.cluster.controller.clusters import SETTINGS
from tests.cluster.node.memory_nodes import memory_nodes

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.client.admin import AdminClient

FORMS = """
create-topic --topic {new} --partition {number} --replica {few}
create-topic --topic {new} --replica-assignment-list {assignment}
topics --create --topic {new} --partitions {number} --replication-factor {few} --config {config}
topics --create --if-not-exists --topic {topic} --partitions 1 --replication-factor 1
topics --alter --topic {topic} --config {config}
topics --alter --topic {topic} --delete-config {key}
topics --alter --topic {topic} --partitions {number}
topics --delete --topic {doomed}
delete-topic --topic {doomed}
add-partitions --topic {topic} --partition {number}
add-partitions --topic {topic} --partition 1 --replica-assignment-list {assignment}
configs --alter --entity-type topics --entity-name {topic} --add-config {config}
configs --alter --entity-type topics --entity-name {topic} --delete-config {key}
reassign-partitions --execute --reassignment-json-file {file}
preferred-replica-leader-election --path-to-json-file {file}
""".strip().splitlines()
WORDS = {
    "new": ("a", "b", "c.d", "c_d", "bad%name", "e"),
    "topic": ("a", "a", "b", "nosuch", "c.d", "a|b"),
    "doomed": ("b", "e", "nosuch"),
    "number": ("0", "1", "1", "2", "3", "4", "many"),
    "few": ("1", "1", "2", "9"),
    "assignment": ("1", "1:2", "2:1", "1:1", "99", "x"),
    "config": ("retention.ms=5", "nosuch=1", "retention.ms=many", "cleanup.policy=compact"),
    "key": ("retention.ms", "retention.m"),
    "file": ("{folder}/same", "{folder}/moved", "{folder}/unknown", "{folder}/dead", "{folder}/nosuch"),
}
FILES = {
    "same": '{"version": 1, "partitions": [{"topic": "a", "partition": 0, "replicas": [1]}]}',
    "moved": '{"version": 1, "partitions": [{"topic": "a", "partition": 0, "replicas": [2]}]}',
    "unknown": '{"version": 1, "partitions": [{"topic": "nosuch", "partition": 7, "replicas": [1]}]}',
    "dead": '{"version": 1, "partitions": [{"topic": "a", "partition": 0, "replicas": [99]}]}',
}


async def run_tool(admin: AdminClient, words: list[str], *, dry_run: bool) -> tuple[list[str], int | None, str | None]:
    """Return the lines, the exit status, and the error of `kafka tools run`."""
    verb = find_verb("tools", "run")
    assert verb is not None
    try:
        [row] = await verb(Run(admin, dry_run=dry_run), tool=words[0], arguments=words[1:], broker=None)
    except InvalidArgument as error:
        return [], 2, str(error)
    except Unhealthy as failed:
        [row] = failed.rows
        return row.output.splitlines(), row.exit_status, failed.summary
    return row.output.splitlines(), row.exit_status, None


@pytest.mark.parametrize("seed", range(3))
async def test_dry_run_of_a_tool_is_its_real_run_without_effect(seed: int, tmp_path: Path) -> None:
    choices = random.Random(seed)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ended: dict[int | None, int] = {0: 0, 1: 0, 2: 0}
    async with memory_nodes(1, 2, settings=SETTINGS) as (cluster, admin):
        for form in ["create-topic --topic a --partition 1", *choices.choices(FORMS, k=60)]:
            filled = re.sub(r"\{(\w+)\}", lambda match: choices.choice(WORDS[match[1]]), form)
            words = filled.replace("{folder}", str(tmp_path)).split()
            dry = await run_tool(admin, words, dry_run=True)
            await cluster.wait_idle()
            real = await run_tool(admin, words, dry_run=False)
            assert dry == real, filled
            ended[real[1]] += 1
            await cluster.wait_idle()
    assert min(ended[0], ended[1]) > 8, ended


async def test_tool_that_cannot_be_checked_says_so(tmp_path: Path) -> None:
    (tmp_path / "offsets").write_text("/consumers/g/offsets/a/0:1\n", encoding="utf-8")
    verb = find_verb("tools", "run")
    assert verb is not None
    warnings: list[str] = []
    words = ["--input-file", str(tmp_path / "offsets"), "--zookeeper", "127.0.0.1:1"]
    run = Run(None, dry_run=True, warn=warnings.append)
    [row] = await verb(run, tool="import-zk-offsets", arguments=words, broker=None)
    assert (row.exit_status, row.output.startswith("import-zk-offsets --input-file")) == (None, True)
    [warning] = warnings
    assert warning.endswith("the tool works on ZooKeeper itself: nothing was checked.")
