"""The jars of a Kafka version, downloaded once with Maven.

The name of the folder contains the hash of the pom, so a changed pom is downloaded again. The folder is renamed to that
name once it is complete.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from kwire.storage.staging import base_folder
from tests.real_kafka.errors import JarDownloadFailed, MissingTools

MIN_JAVA = 17
"""The oldest Java version that runs the brokers of Kafka 4."""


def jars(name: str) -> Path:
    """Return the folder with the jars that `<name>.xml` in this package lists. See `jars_of` for errors."""
    with as_file(files(__package__) / f"{name}.xml") as pom:
        return jars_of(pom)


def jars_of(pom: Path) -> Path:
    """Return the folder with the jars that a pom lists.

    Raises:
        MissingTools: Java or Maven is not installed.
        JarDownloadFailed: Maven failed.
    """
    folder = cache_folder() / f"{pom.stem}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    missing = [_missing_java()]
    if not folder.is_dir():
        missing.append(_missing_maven(pom.name))
    tools = tuple(tool for tool in missing if tool is not None)
    if tools:
        raise MissingTools(tools)
    if not folder.is_dir():
        _download(pom, folder)
    return folder


def cache_folder() -> Path:
    """Return the user's folder for downloads of kwire."""
    return Path(base_folder("XDG_CACHE_HOME", ".cache")) / "kwire"


def _missing_java() -> str | None:
    tool = f"Java {MIN_JAVA} or newer (`java`): runs Kafka's brokers; for example `apt install default-jre-headless`"
    if shutil.which("java") is None:
        return tool
    run = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)  # from the user's PATH
    version = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
    if version is None or int(version[1]) < MIN_JAVA:
        return f"{tool}; found: {run.stderr.strip()}"
    return None


def _missing_maven(pom: str) -> str | None:
    if shutil.which("mvn") is not None:
        return None
    return f"Maven (`mvn`): downloads the jars listed in {pom}; for example `apt install maven`"


def _download(pom: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as partial:
        run = subprocess.run(
            [  # from the user's PATH
                "mvn",
                "--quiet",
                "--batch-mode",
                f"--file={pom}",
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={partial}/jars",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise JarDownloadFailed(pom.name, run.stdout + run.stderr)
        try:
            (Path(partial) / "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process downloaded the same jars
                raise
