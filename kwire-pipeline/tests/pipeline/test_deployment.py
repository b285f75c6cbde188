"""The files of `deploy/`: units that systemd accepts, commands that kwire accepts, and an image with sound steps."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from kwire.cli.commands.capture import capture
from kwire_pipeline.commands.pipeline import pipeline
from tests.for_rows import for_rows
from tests.paths import ROOT

UNITS = sorted((ROOT / "deploy").glob("*.service"))


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


@for_rows(("stage", "extras"), [("pipeline", {"cli", "spark", "kafka"}), ("kafka", {"cli", "http"})])
def test_image_has_the_extras_that_it_needs(stage: str, extras: set[str]) -> None:
    """Docker builds it in the workflow; here, its instructions are read."""
    image = stages()[stage]
    steps = [line.partition(" ")[::2] for line in joined(image).splitlines() if line and not line.startswith("#")]
    names = [name for name, _ in steps]
    allowed = {"FROM", "RUN", "COPY", "USER", "VOLUME", "WORKDIR", "ENV", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    assert set(names) <= allowed
    assert ":latest" not in steps[0][1]
    assert dict(steps)["USER"] == "kwire"
    assert names.index("COPY") < names.index("USER")
    [installed] = re.findall(r"kwire\[([a-z,]+)\]", image)
    declared = (ROOT / "pyproject.toml").read_text()
    assert extras <= set(installed.split(","))
    assert all(re.search(rf"^{extra} = ", declared, re.MULTILINE) for extra in installed.split(","))


def test_images_have_the_engine_of_their_python() -> None:
    """A wheel of another Python would be passed over for the one without the engine, in silence."""
    pythons = {stage: text.split()[1] for stage, text in stages().items()}
    assert pythons["wheel"] == pythons["kafka"] == pythons["pipeline"]
    assert all('python -c "import kwire._kwire"' in stages()[stage] for stage in ("kafka", "pipeline"))


def stages() -> dict[str, str]:
    """Return the text of each stage of the images by its name."""
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    return {stage.split()[3]: stage for stage in re.split(r"^(?=FROM )", text, flags=re.MULTILINE)[1:]}


def test_image_of_the_pipeline_has_the_java_of_spark() -> None:
    image = stages()["pipeline"]
    [java] = re.findall(r"openjdk-(\d+)-jre-headless", image)
    assert int(java) >= 17
    assert re.search(r"rm -rf /var/lib/apt/lists", image)


def test_workflow_builds_the_images() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "docker build --file deploy/Dockerfile --tag kwire ." in workflow
    assert "docker build --file deploy/Dockerfile --target kafka --tag kafka ." in workflow
