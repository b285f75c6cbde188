"""The parts of `make demo`: each prints what it claims, also to a pipe, and leaves nothing but its reports."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from examples.demo.__main__ import PARTS
from scripts.demo import BESIDE, PURE, SPARK, WITH_SPARK, WITHOUT_ENGINE, WITHOUT_SPARK, beside
from scripts.requirements import requirements

pytestmark = pytest.mark.programs

ROOT = Path(__file__).parent.parent

IN_THIS_ORDER = r"\n(?s:.*)"

EXPECTED_OUTPUT = {
    "frames": (
        r"Kafka 3\.9\.1, cluster \S{22}: \d+ topics with \d+ partitions",
        r"Kafka 4\.4\.0, cluster \S{22}: ",
        r"broker 3 at 127\.0\.0\.1:29093 in rack-3, was down for a while",
        r"1601 requests and their responses, by 6 clients, with 26 error codes",
        r"  error_code +int16 +17  INVALID_TOPIC_EXCEPTION",
        r"Error: brokers: count_exceeds_input at byte 9: \d+ bytes wanted, \d+ left",
    ),
    "speed": (
        r"All 3,\d\d\d frames: engine [\d,]+ frames/s, reference [\d,]+",
        r"engine \d+ ns a partition, reference [\d,]+, \d+ times as much",
    ),
    "recording": (
        r"Cluster 4zuCG4NGSuCb_pHu_l0aiw, 01:47:32 to 01:50:58 UTC: 3 brokers, 1,204 polls, 20 incidents",
        r"01:47:36 +\d\.\d s  45 topics created",
        r"01:48:25 +30 s  Broker 3 was killed or crashed",
        r"01:49:25 +17 s  Broker 2 was paused",
        r"01:49:55 +16 s  Broker 2 was shut down cleanly",
        r"01:50:20 +30 s  Broker 1 was killed or crashed",
        r"01:50:39 +0\.3 s  The controller moved from 1 to 3",
        r"Nothing is wrong now\.",
    ),
    "polls": (
        r"a cluster of 12 brokers, 5,000 topics, 100,000 partitions",
        r"first snapshot, \d\.\d MB: +[\d.]+ ms of CPU",
        r"nothing changed: +[\d.]+ ms, \d+% of that",
        r"1% of topics changed: +[\d.]+ ms, \d+% of that",
        r"events of a poll after a change: 50 LeaderMoved",
    ),
    "live": (
        r"broker 2 stopped",
        r"the webhook got an alert, firing:",
        r"Kafka cluster \S+: broker (killed|lost) \(broker 2\): ",
    ),
    "cluster": (
        r"20 topics of 6 partitions created in one batch",
        r"leaders: 44 at node 1, 44 at node 2, 44 at node 3",
        r"node [23] killed \(SIGKILL\)",
        r"leaders: 66 at node 1, 66 at node [23]",
        IN_THIS_ORDER.join(
            (
                "20 topics created",
                "12 partitions added to 2 topics",
                "6 partitions of topic demo-19 reassigned to other brokers",
                "Broker [23] was killed or crashed",
                "Broker [23] was restarted",
                r"Preferred leaders elected for \d+ partitions",
                "10 topics deleted",
            )
        ),
        r"Nothing is wrong now\. All 3 brokers answer, and all 60 partitions have a leader and are in sync\.",
    ),
}
REPORTS: dict[str, list[str]] = {
    "frames": [],
    "speed": [],
    "recording": ["recorded-cluster.html"],
    "polls": [],
    "cluster": ["live-cluster.html"],
    "live": [],
}


RUNS = (("frames",), ("speed",), ("polls",), ("recording", "cluster", "live"))
"""The parts that run in one process; parts with Spark share a session, which takes long to start."""


TIMEOUT = 1_100
"""Seconds for one process on a busy machine."""


@pytest.mark.timeout(TIMEOUT + 60)
@pytest.mark.parametrize("parts", RUNS, ids="+".join)
async def test_demo_prints_its_results_and_cleans_up(parts: tuple[str, ...], tmp_path: Path) -> None:
    pages, scratch = tmp_path / "pages", tmp_path / "scratch"
    scratch.mkdir()

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "examples.demo", "--pages", str(pages)),
        *(argument for part in parts for argument in ("--only", part)),
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(TIMEOUT):
        out, err = (stream.decode() for stream in await process.communicate())

    assert process.returncode == 0, err
    assert err == ""
    assert "\x1b" not in out
    _, *outputs = re.split(r"^Part \w+: .*$", out, flags=re.MULTILINE)
    for part, output in zip(parts, outputs, strict=True):
        for pattern in EXPECTED_OUTPUT[part]:
            assert re.search(pattern, output), f"{pattern}\n{output}"
    assert sorted(page.name for page in pages.iterdir()) == sorted(page for part in parts for page in REPORTS[part])
    assert [path.name for path in scratch.iterdir() if path.name.startswith("kwire-")] == []


def test_first_part_needs_no_engine(tmp_path: Path) -> None:
    for name in ("python", "examples", "tests/data"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        engine = shutil.ignore_patterns("*.so", "*.pyd", "*.dylib", "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=engine)
    command = [sys.executable, "-m", "examples.demo", *(word for part in WITHOUT_ENGINE for word in ("--only", part))]

    shown = subprocess.run(command, cwd=tmp_path, env=os.environ | PURE, capture_output=True, text=True, check=False)

    assert (shown.returncode, shown.stderr) == (0, "")
    for part in WITHOUT_ENGINE:
        for pattern in EXPECTED_OUTPUT[part]:
            assert re.search(pattern, shown.stdout), f"{pattern}\n{shown.stdout}"


def test_every_part_of_the_demo_is_tested() -> None:
    assert sorted(part for parts in RUNS for part in parts) == sorted(EXPECTED_OUTPUT) == sorted(PARTS)


def test_installation_shows_every_part_and_installs_all_that_an_extra_needs() -> None:
    assert sorted([*WITHOUT_ENGINE, *WITHOUT_SPARK, *WITH_SPARK, *BESIDE]) == sorted(PARTS)
    names = {re.split(r"[<>=;]", requirement)[0] for requirement in requirements(*SPARK)}
    assert {"deltalake", "jinja2", "pandas", "plotly", "pyarrow", "pyspark", "structlog"} <= names


def test_lines_of_a_process_beside_others_are_shown_after_them(capfd: pytest.CaptureFixture[str]) -> None:
    with beside(sys.executable, "-c", "print('cluster')"):
        sys.stdout.write("incidents\n")

    assert capfd.readouterr().out.splitlines() == ["incidents", "cluster"]


def test_failure_of_a_process_beside_others_is_raised() -> None:
    with pytest.raises(subprocess.CalledProcessError), beside(sys.executable, "-c", "raise SystemExit(3)"):
        pass


def fail_after_first_line(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    process.stdout.readline()
    raise EOFError


def test_process_beside_others_is_interrupted_if_they_fail(tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
try:
    print(flush=True)
    time.sleep(3600)
finally:
    Path({str(tmp_path / "cleaned-up")!r}).touch()
"""

    with pytest.raises(EOFError), beside(sys.executable, "-c", program) as process:
        fail_after_first_line(process)

    assert (tmp_path / "cleaned-up").exists()
