"""`kwire report` writes a page from gold or from a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import kwire
from tests.paths import DATA
from tests.report.cases import polls, state, write

RECORDING = DATA / "tapes" / "kraft44-public.parquet"


def test_report_on_gold(tmp_path: Path) -> None:
    tables = {"silver/polls": polls([1]), "gold/intervals": [state("t", 0, -1, (1,), 30, offline=True)]}
    out = tmp_path / "out.html"

    run = kwire("report", out, "--gold", write(tmp_path / "gold", tables))

    assert run.err == ""
    assert run.out.splitlines()[0] == "a-cluster: 1 partition without a leader, since 14:00:30."
    assert run.out.splitlines()[1] == f"{out} ({out.stat().st_size / 1e6:.1f} MB)"
    assert run.code == 0


def test_report_on_a_window(tmp_path: Path) -> None:
    tables = {"silver/polls": polls([1]), "gold/intervals": [state("t", 0, -1, (1,), 30, offline=True)]}

    run = kwire(
        "report", tmp_path / "out.html", "--gold", write(tmp_path / "gold", tables), "--until", "2026-11-21T14:00:10"
    )

    assert run.out.splitlines()[0] == "a-cluster: No partition was reported."


@pytest.mark.programs
def test_report_on_a_recorded_cluster(tmp_path: Path) -> None:
    out = tmp_path / "out.html"

    run = kwire("report", out, "--capture", RECORDING, TMPDIR=str(tmp_path))

    assert run.code == 0, run.err
    assert run.out.splitlines()[0] == "dGFwZS1rcmFmdDQ0LXB1Yg: Nothing is wrong now."
    assert run.err == f"building gold from {RECORDING} ...\n"
    page = out.read_text(encoding="utf-8")
    for said in (
        "Broker 2 was shut down cleanly",
        "Broker 3 was killed or crashed",
        "Broker 2 was paused",
        "244</b>partitions of 42 topics",
        "3 of 3</b>brokers answer",
    ):
        assert said in page, said
    assert [left.name for left in tmp_path.iterdir() if left.name.startswith("kwire-")] == []


def test_gold_or_capture_is_required(tmp_path: Path) -> None:
    run = kwire("report", tmp_path / "out.html")

    assert run.code == 2
    assert "expected either --gold DIR or --capture PATH" in run.err


def test_folder_without_gold_is_an_error(tmp_path: Path) -> None:
    run = kwire("report", tmp_path / "out.html", "--gold", tmp_path)

    assert run.code == 1
    assert run.err == (
        f"Error: {tmp_path} has no table gold/intervals: expected the folder of a pipeline with a gold layer\n"
    )
