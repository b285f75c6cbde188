"""The installed scripts: programs with and without `.sh`, functions of Python, and classes of Kafka."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from kwire_admin import compat
from kwire_admin.compat import SCRIPTS, install, run_script
from kwire_admin.compat.registry import MODULES, find_script
from tests.cli.running import environment, kwire
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics=["audit", "orders"], partitions=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    run = kwire("compat", "install", folder)
    assert run.code == 0, run.err
    assert run.out.startswith(f"{len(SCRIPTS)} scripts in {folder}: kafka-acls, ")
    return folder


def run_program(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [name, *arguments], capture_output=True, text=True, check=False, env=environment(PATH=path), timeout=60
    )


def test_every_script_is_installed_with_and_without_suffix(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {*SCRIPTS, *(f"{name}.sh" for name in SCRIPTS)}


@for_rows("suffix", ["", ".sh"])
def test_installed_script_lists_topics(folder: Path, cluster: FakeCluster, suffix: str) -> None:
    done = run_program(folder, f"kafka-topics{suffix}", "--bootstrap-server", cluster.bootstrap, "--list")
    assert (done.returncode, done.stdout, done.stderr) == (0, "audit\norders\n", "")


def test_installing_again_replaces_own_scripts_and_no_other_programs(tmp_path: Path) -> None:
    install(tmp_path)
    install(tmp_path)
    (tmp_path / "kafka-topics.sh").write_text("#!/bin/bash\nexec kafka-run-class.sh ...\n")
    (tmp_path / "kafka-acls").unlink()
    run = kwire("compat", "install", tmp_path)
    assert run.code == 1
    assert "kafka-topics.sh exists already, and is not one of kwire's scripts" in run.err
    assert not (tmp_path / "kafka-acls").exists()


@for_rows("name", ["my venv", "it's", "a" * 150])
def test_script_starts_an_interpreter_that_a_first_line_cannot_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / name / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(python))
    [script] = [file for file in install(tmp_path / f"{name} scripts") if file.name == "kafka-topics"]
    script.write_text(
        script.read_text("utf-8").replace("import sys\n", f"import sys\nsys.path[:0] = {sys.path}\n"), "utf-8"
    )
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("(kwire)\n")


def test_scripts_of_a_release_are_complete(tmp_path: Path) -> None:
    done = kwire("compat", "install", tmp_path, "--release", "0.8.2.2")
    assert done.out.startswith("9 scripts in ")
    names = {file.name for file in tmp_path.iterdir()}
    assert "kafka-topics.sh" in names
    assert names.isdisjoint({"kafka-share-groups", "kafka-consumer-groups", "kafka-acls"})


def test_every_script_is_a_function(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    for name in SCRIPTS:
        assert callable(getattr(compat, name.replace("-", "_")))
    assert compat.kafka_get_offsets("--bootstrap-server", cluster.bootstrap, "--topic", "nosuch") == 1
    assert (
        capsys.readouterr().err == "Error occurred: Could not match any topic-partitions with the specified filters\n"
    )


@pytest.mark.parametrize("name", MODULES)
def test_help_and_version(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script(name, ["--help"]) == 0
    shown = capsys.readouterr().err
    assert all(f"--{option.name}" in shown for option in find_script(name).options)
    assert run_script(name, ["--version"]) == 0
    assert re.fullmatch(r"\S+ \(kwire\)\n", capsys.readouterr().out)
    assert run_script(name, []) == 1
    program = find_script(name).program
    assert capsys.readouterr().err == (f"{program}: error: too few arguments\n{shown}" if program else shown)


@pytest.mark.parametrize("name", MODULES)
def test_unreachable_cluster_and_wrong_file_are_one_sentence(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("kwire.client.admin.AdminClient.open", _open_briefly(compat))
    offsets, properties = tmp_path / "offsets.json", tmp_path / "empty.properties"
    offsets.write_text('{"partitions": [{"topic": "orders", "partition": 0, "offset": 1}]}')
    properties.touch()
    command = {
        "kafka-broker-api-versions": [],
        "kafka-cluster": ["cluster-id"],
        "kafka-delegation-tokens": ["--describe", "--command-config", str(properties)],
        "kafka-delete-records": ["--offset-json-file", str(offsets)],
        "kafka-transactions": ["list"],
        "kafka-features": ["describe"],
        "kafka-leader-election": ["--election-type", "preferred", "--all-topic-partitions"],
        "kafka-log-dirs": ["--describe"],
        "kafka-metadata-quorum": ["describe", "--status"],
        "kafka-configs": ["--describe", "--topic", "orders"],
        "kafka-get-offsets": [],
        "kafka-preferred-replica-election": [],
    }.get(name, ["--list"])
    assert run_script(name, ["--bootstrap-server", "127.0.0.1:1", *command]) == 1
    printed = capsys.readouterr()
    assert "cannot connect" in printed.out + printed.err
    assert "Traceback" not in printed.err


def _open_briefly(_: object) -> object:
    """Return AdminClient.open with a short timeout, since nothing will respond."""
    from functools import partial

    from kwire.client.admin import AdminClient

    return partial(AdminClient.open, timeout=0.3)


def test_run_class_finds_scripts_and_tools(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--bootstrap-server", cluster.bootstrap, "--list"]
    for name in ("kafka.admin.TopicCommand", "org.apache.kafka.tools.TopicCommand"):
        assert run_script("kafka-run-class", [name, *arguments]) == 0
        assert capsys.readouterr().out == "audit\norders\n"
    assert run_script("kafka-run-class", ["kafka.tools.DumpLogSegments", "--files", "/nosuch.log"]) == 1
    assert "/nosuch.log" in capsys.readouterr().err


def test_run_class_explains_unknown_classes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_script("kafka-run-class", ["kafka.tools.GetOffsetShel"]) == 1
    assert "nothing in place of the class kafka.tools.GetOffsetShel: did you mean" in capsys.readouterr().err
    assert run_script("kafka-run-class", []) == 1
    assert capsys.readouterr().err == "USAGE: kafka-run-class classname [opts]\n"


def test_topics_of_a_cluster_that_cannot_list_reassignments_are_described(capsys: pytest.CaptureFixture[str]) -> None:
    """FakeCluster lacks the request, as brokers before Kafka 2.4."""
    with FakeCluster(1, topics=["orders"]) as cluster:
        words = ["--bootstrap-server", cluster.bootstrap, "--describe"]
        assert run_script("kafka-topics", words) == 0
        assert "\tTopic: orders\tPartition: 0\tLeader: 1" in capsys.readouterr().out
        assert run_script("kafka-topics", [*words, "--unavailable-partitions"]) == 0
        cluster.remove_leader("orders", 0)
        assert run_script("kafka-topics", [*words, "--unavailable-partitions"]) == 0
        assert "Leader: none" in capsys.readouterr().out
