"""The tools of Kafka's releases in one JVM, from the jars on Maven Central.

A tool of Kafka 0.8 to 0.10 starts in two seconds of processor time by itself, and in a tenth of that here.
"""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from tests.real_kafka.jars import jars, jars_of

if TYPE_CHECKING:
    from collections.abc import Iterable

PROGRAM = Path(__file__).parent / "ReleaseTools.java"
ARTIFACTS = {
    "0.8.2.2": "kafka_2.11",
    "0.9.0.1": "kafka_2.11",
    "0.10.2.2": "kafka_2.11",
    "3.9.1": "kafka-tools",
    "4.4.0": "kafka-tools",
}
"""The jar with the tools of each release. In 3.9.1, some tools are in the jar of the broker."""
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kwire.tests</groupId>
  <artifactId>tools-{release}</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>{artifact}</artifactId>
      <version>{release}</version>
      <exclusions>
        <!-- Named by the pom of 4.4.0 and not published. -->
        <exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
"""


class Printed(NamedTuple):
    """The end of a run of a tool: exit code, stdout, and stderr."""

    code: int
    out: str
    err: str


class ReleaseTools:
    """The JVM. Use it as a context manager.

    Args:
        releases: keys of ARTIFACTS.
    """

    def __init__(self, releases: Iterable[str]) -> None:
        pairs = [word for release in releases for word in (release, release_jars(release))]
        command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-Djava.security.manager=allow", str(PROGRAM), *pairs]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the JVM
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # closes its pipes
            self._process.kill()
        self._errors.close()

    def run(self, release: str, main: str, *arguments: str) -> Printed:
        """Run a main class of a release, and return what it printed and its exit code."""
        assert self._process.stdin is not None
        words = [word.encode() for word in (release, main, *arguments)]
        request = b"".join(struct.pack(">i", len(word)) + word for word in words)
        self._process.stdin.write(struct.pack(">i", len(words)) + request)
        self._process.stdin.flush()
        code = self._number()
        return Printed(code, *(self._read(self._number()).decode(errors="replace") for _ in range(2)))

    def _number(self) -> int:
        [number] = struct.unpack(">i", self._read(4))
        return int(number)

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) < size:
            self._errors.seek(0)
            raise AssertionError(f"the JVM ended: {self._errors.read().decode(errors='replace')}")
        return data


def release_jars(release: str) -> str:
    """Return the folders with the jars of a release, as in a class path but without `*`."""
    with tempfile.TemporaryDirectory() as folder:
        pom = Path(folder) / f"tools-{release}.xml"
        pom.write_text(POM.format(release=release, artifact=ARTIFACTS[release]), encoding="utf-8")
        folders = [jars_of(pom)]
    if release == "3.9.1":
        folders.append(jars("kafka39"))
    return os.pathsep.join(map(str, folders))
