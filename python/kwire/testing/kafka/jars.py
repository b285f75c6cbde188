"""Where the jars of a Kafka version are, fetched once.

Rules of this file: the folder's name has the hash of the pom that names its jars, so a changed pom fetches anew. It
appears under that name only when it is complete.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from kwire.testing.kafka.errors import JarDownloadFailed, MissingTools

OLDEST_JAVA = 17
"""What Kafka 4's brokers need."""


def jars(name: str) -> Path:
    """The folder with the jars that ``<name>.xml`` beside this file asks for. Raises MissingTools, JarDownloadFailed."""
    pom = files(__package__) / f"{name}.xml"
    folder = _cache() / f"{name}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    missing = [_missing_java()]
    if not folder.is_dir():
        missing.append(_missing_maven(name))
    tools = tuple(tool for tool in missing if tool is not None)
    if tools:
        raise MissingTools(tools)
    if not folder.is_dir():
        with as_file(pom) as path:
            _fetch(path, folder)
    return folder


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kwire"


def _missing_java() -> str | None:
    wanted = f"Java {OLDEST_JAVA} or newer (`java`): Kafka's brokers run on it; e.g. `apt install default-jre-headless`"
    if shutil.which("java") is None:
        return wanted
    run = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)  # noqa: S607  the user's own
    version = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
    if version is None or int(version[1]) < OLDEST_JAVA:
        return f"{wanted}; what there is says: {run.stderr.strip()}"
    return None


def _missing_maven(name: str) -> str | None:
    if shutil.which("mvn") is not None:
        return None
    return f"Maven (`mvn`): fetches the jars that {name}.xml names; e.g. `apt install maven`"


def _fetch(pom: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}-") as fetching:
        run = subprocess.run(  # noqa: S603  what runs is Maven
            [  # noqa: S607  the user's own
                "mvn",
                "--quiet",
                "--batch-mode",
                f"--file={pom}",
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={fetching}/jars",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode != 0:
            raise JarDownloadFailed(pom.name, run.stdout + run.stderr)
        try:
            (Path(fetching) / "jars").rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was quicker, with the same jars
                raise
