"""The command line around verbs: usage errors, unreachable clusters, output formats, and imports."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from kwire.testing import FakeCluster
from tests.cli.running import environment, kwire, kwire_on_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=["orders", "audit"], partitions=2) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topics", "list"], "name the cluster: give --bootstrap HOST:PORT, set KWIRE_BOOTSTRAP, or give --cluster"),
        (["topics", "crate"], "topics has no command 'crate': did you mean create"),
        (["topcs"], "no such command 'topcs': did you mean topics"),
        (["-b", "h:x", "topics", "list"], "Invalid value for --bootstrap"),
    ],
    ids=["no cluster", "misspelled verb", "misspelled noun", "invalid address"],
)
def test_wrong_usage_exits_with_2(arguments: list[str], message: str) -> None:
    run = kwire(*arguments)
    assert run.code == 2
    assert message in run.err
    assert run.out == ""


def test_invalid_arguments_exit_with_2(cluster: FakeCluster) -> None:
    run = kwire("-b", cluster.bootstrap, "topics", "create")
    assert (run.code, run.err) == (2, "Error: name at least one topic\n")


def test_unreachable_cluster_exits_with_3() -> None:
    run = kwire("-b", "127.0.0.1:1", "--timeout", "0.5", "topics", "list", "-o", "json")
    assert run.code == 3
    assert json.loads(run.out)["error"]["name"] == "ConnectFailed"
    assert run.err == "Error: 127.0.0.1:1: cannot connect: [Errno 111] Connection refused\n"


def test_bootstrap_can_be_set_in_the_environment_and_before_or_after_the_verb(cluster: FakeCluster) -> None:
    listed = kwire("topics", "list", KWIRE_BOOTSTRAP=cluster.bootstrap)
    assert listed.code == 0, listed.err
    assert (
        listed == kwire("-b", cluster.bootstrap, "topics", "list") == kwire("topics", "list", "-b", cluster.bootstrap)
    )
    assert listed.out.splitlines()[1].split() == ["audit", "2", "3", "no"]


def test_every_output_has_the_same_content(cluster: FakeCluster) -> None:
    def listed(output: str) -> str:
        return kwire("-b", cluster.bootstrap, "-o", output, "topics", "list").out

    rows = json.loads(listed("json"))
    assert [row["name"] for row in rows] == ["audit", "orders"]
    assert [json.loads(line) for line in listed("jsonl").splitlines()] == rows
    assert yaml.safe_load(listed("yaml")) == rows
    assert [row["name"] for row in csv.DictReader(io.StringIO(listed("csv")))] == ["audit", "orders"]


def test_empty_list_is_an_empty_array(cluster: FakeCluster) -> None:
    run = kwire("-b", cluster.bootstrap, "-o", "json", "topics", "list", "nosuch*")
    assert (run.code, json.loads(run.out)) == (0, [])


def test_table_on_a_terminal(cluster: FakeCluster) -> None:
    run = kwire_on_terminal("-b", cluster.bootstrap, "topics", "list", COLUMNS="100")
    assert run.code == 0
    assert "REPLICATION FACTOR" in run.out


def test_json_output_does_not_import_rich(cluster: FakeCluster) -> None:
    code = (
        "import sys; from kwire.cli.program import run; "
        f"run(['-b', {cluster.bootstrap!r}, '-o', 'json', 'topics', 'list']); "
        "print(sorted({'rich', 'yaml', 'numpy', 'pydantic', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=True)
    assert done.stderr.strip() == "[]"
