"""Kafka's own scripts of 3.9.1. Maven Central has no kafka-tools 4.4.0."""

from __future__ import annotations

import subprocess

from tests.paths import ROOT
from tests.real_kafka.jars import jars, jars_of

TOOLS = ROOT / "benches" / "kafka-tools.xml"


def run_kafkas_own(main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a class of Kafka's tools or core."""
    classpath = f"{jars_of(TOOLS)}/*:{jars('kafka39')}/*"
    command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classpath, main, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def kafkas_own(main: str, *arguments: str) -> str:
    """Return what a run prints that must succeed."""
    done = run_kafkas_own(main, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
