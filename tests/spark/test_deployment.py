"""The files of `deploy/`: units that systemd accepts, commands that kwire accepts, and an image with sound steps."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from kwire.cli.commands.capture import capture
from kwire.cli.commands.pipeline import pipeline

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy").glob("*.service"))
IMAGE = (ROOT / "deploy" / "Dockerfile").read_text()


def joined(text: str) -> str:
    """Return a file without comments, with continued lines as one."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(lines).replace("\\\n", " ")


def test_units_run_commands_that_kwire_accepts(tmp_path: Path) -> None:
    sinks = tmp_path / "sinks.yaml"
    sinks.touch()
    for unit in UNITS:
        [line] = re.findall(r"^ExecStart=(.*)", joined(unit.read_text()), re.MULTILINE)
        program, name, *arguments = shlex.split(line.replace("/etc/kwire/sinks.yaml", str(sinks)))
        assert program == "/opt/kwire/bin/kwire"
        if name == "capture":
            context = capture.make_context(name, arguments)
        else:
            context = pipeline.commands[arguments[0]].make_context(name, arguments[1:])
        assert context.params["out"].startswith("/var/lib/kwire/")


@pytest.mark.programs
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    program = tmp_path / "kwire"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copies = [tmp_path / unit.name for unit in UNITS]
    for unit, copy in zip(UNITS, copies, strict=True):
        copy.write_text(unit.read_text().replace("/opt/kwire/bin/kwire", str(program)))

    # Warnings are errors here: systemd ignores a line that it does not understand.
    done = subprocess.run(["systemd-analyze", "verify", *copies], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_image_has_the_extras_and_the_java_that_the_pipeline_needs() -> None:
    """Docker builds it in the workflow; here, its instructions are read."""
    steps = [line.partition(" ")[::2] for line in joined(IMAGE).splitlines() if line]
    names = [name for name, _ in steps]
    assert set(names) <= {"FROM", "RUN", "COPY", "USER", "VOLUME", "ENV", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    assert names[0] == "FROM"
    assert ":latest" not in steps[0][1]
    assert dict(steps)["USER"] == "kwire"
    assert names.index("COPY") < names.index("USER")
    [extras] = re.findall(r"kwire-\*\.whl\)\[([a-z,]+)\]", IMAGE)
    declared = (ROOT / "pyproject.toml").read_text()
    assert {"cli", "spark", "kafka", "node"} <= set(extras.split(","))
    assert all(re.search(rf"^{extra} = ", declared, re.MULTILINE) for extra in extras.split(","))
    [java] = re.findall(r"openjdk-(\d+)-jre-headless", IMAGE)
    assert int(java) >= 17
    assert re.search(r"rm -rf /var/lib/apt/lists", IMAGE)


def test_workflow_builds_the_image() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "docker build --tag kwire deploy" in workflow
