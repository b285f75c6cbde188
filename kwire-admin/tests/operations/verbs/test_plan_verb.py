"""Plans and simulations without a cluster: from snapshots and captures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kwire.capture import Capture
from tests.capture.sample_rows import metadata, response_row
from tests.cli.running import Run, kwire
from tests.reassignment.snapshots import random_snapshot

if TYPE_CHECKING:
    from pathlib import Path


def plan(folder: Path, *arguments: str | Path) -> Run:
    return kwire("reassign", "plan", "--file", folder / "plan.json", *arguments)


def test_snapshot_is_planned_and_simulated(tmp_path: Path) -> None:
    snapshot = tmp_path / "cluster.json"
    snapshot.write_text(random_snapshot(300, 6, empty=1).to_json(), encoding="utf-8")

    run = plan(tmp_path, "--snapshot", snapshot, "--balance", "count", "--throttle", "100M")
    assert (run.code, run.err) == (0, "")
    assert "Optimal: no plan for these goals moves fewer than 150 replicas." in run.out
    assert "At 100.0 MiB/s for each broker: about" in run.out
    assert "bytes of each broker: = stays, - leaves, + arrives" in run.out
    document = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert sum(5 in partition["replicas"] for partition in document["partitions"]) == 150

    simulated = kwire("-o", "json", "reassign", "simulate", tmp_path / "plan.json", "--snapshot", snapshot)
    assert simulated.code == 0
    [new] = [load for load in json.loads(simulated.out) if load["broker"] == 5]
    assert new["received"] > 0
    assert new["peak_in"] <= 50 * 2**20 + 1


def test_capture_is_planned(tmp_path: Path) -> None:
    with Capture(tmp_path / "capture") as capture:
        capture.append(response_row(0, metadata(1, 1, 1)))
    run = plan(tmp_path, "--snapshot", tmp_path / "capture", "--balance", "leaders")
    assert run.code == 0, run.err
    assert "PREFERRED" in run.out


def test_plan_that_moves_nothing_writes_no_file(tmp_path: Path) -> None:
    snapshot = tmp_path / "cluster.json"
    snapshot.write_text(random_snapshot(300, 6).to_json(), encoding="utf-8")

    run = plan(tmp_path, "--snapshot", snapshot)
    assert run.code == 0, run.err
    assert "No file was written: all partitions stay where they are." in run.out
    assert not (tmp_path / "plan.json").exists()


def test_what_is_not_a_snapshot_is_explained(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    for arguments, text in (
        (("--snapshot", other), 'expected a JSON object with "format": "kwire-cluster-snapshot"'),
        (("--snapshot", tmp_path / "nosuch"), "No such file or directory"),
        ((), "name the cluster: give --bootstrap HOST:PORT"),
        (("--snapshot", other, "--balance", "weight"), "'weight' is not a goal: write count, size, leaders"),
        (("--snapshot", other, "--throttle", "fast"), "'fast' is not a size"),
    ):
        run = plan(tmp_path, *arguments)
        assert (run.code, text in run.err) == (2, True), run.err
    assert plan(tmp_path, "--snapshot", tmp_path).code == 1
