"""Write the API versions of Kafka's releases, `python/kwire/releases/table.txt`, from Kafka's own classes.

    python -m scripts.releases

Maven downloads one jar of kafka-clients for each minor release, about 150 MB, and a JDK runs ApiVersionsOfJars on them.
Patch releases do not change API versions. Kafka 0.8 has no such jar with all APIs: see `SERVED_BY_0_8`.
"""

from __future__ import annotations

import subprocess
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "python" / "kwire" / "releases" / "table.txt"

RELEASES = (
    "0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.2", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.2.2", "2.3.1",
    "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.1",
    "3.8.0", "3.9.1", "4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0",
)  # fmt: skip
"""One patch release of each minor release since 0.9."""

SERVED_BY_0_8 = {
    "0.8.0": dict.fromkeys(range(8), (0, 0)),
    "0.8.1": dict.fromkeys(range(10), (0, 0)),
    "0.8.2": dict.fromkeys(range(11), (0, 0)) | {8: (0, 1), 9: (0, 1)},
}
"""The API keys that `kafka.server.KafkaApis` handles in tags 0.8.0, 0.8.1.1, and 0.8.2.2, and the versions to the
`CurrentVersion` of their classes in `kafka.api`. The jar of kafka-clients 0.8.2 lacks the requests between brokers, and
has two of groups that no broker serves yet."""

SLF4J = "1.7.36"

Versions = dict[int, tuple[int, int]]


def main() -> None:
    releases: dict[str, dict[str, Versions]] = {name: {"zk_broker": keys} for name, keys in SERVED_BY_0_8.items()}
    with tempfile.TemporaryDirectory() as folder:
        releases |= from_jars(Path(folder))
    TABLE.write_text("".join(lines(releases)), encoding="ascii")


def from_jars(folder: Path) -> dict[str, dict[str, Versions]]:
    """Return the versions by release, listener, and API key."""
    artifacts = [("org.slf4j", "slf4j-api", SLF4J)]
    artifacts += [("org.apache.kafka", "kafka-clients", release) for release in RELEASES]
    items = "".join(
        f"<artifactItem><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        "</artifactItem>"
        for group, artifact, version in artifacts
    )
    pom = folder / "pom.xml"
    pom.write_text(f"""<project><modelVersion>4.0.0</modelVersion>
        <groupId>kwire</groupId><artifactId>releases</artifactId><version>1</version><packaging>pom</packaging>
        <build><plugins><plugin>
            <groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>
            <configuration><outputDirectory>{folder}</outputDirectory><artifactItems>{items}</artifactItems></configuration>
        </plugin></plugins></build></project>""")
    subprocess.run(["mvn", "--quiet", "--batch-mode", f"--file={pom}", "dependency:copy"], check=True)
    jars = [str(folder / f"kafka-clients-{release}.jar") for release in RELEASES]
    program = str(ROOT / "scripts" / "ApiVersionsOfJars.java")
    command = ["java", "-cp", str(folder / f"slf4j-api-{SLF4J}.jar"), program, *jars]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    releases: dict[str, dict[str, Versions]] = {}
    for line in printed.splitlines():
        jar, listener, *numbers = line.split()
        key, lowest, highest = map(int, numbers)
        release = jar.removeprefix("kafka-clients-").removesuffix(".jar").rpartition(".")[0]
        # 0.9.0.1 to 0.11.0.2 are patch releases of 0.9.0 to 0.11.0, whose names in use are 0.9 and 0.11.
        name = {"0.9.0": "0.9", "0.11.0": "0.11"}.get(release, release)
        releases.setdefault(name, {}).setdefault(listener, {})[key] = (lowest, highest)
    return releases


def lines(releases: dict[str, dict[str, Versions]]) -> list[str]:
    """Return the table: for each release and listener, the changes since the release before."""
    table = ["# Written by `python -m scripts.releases`. API key:lowest-highest version; -key is removed.\n"]
    last: dict[str, Versions] = {}
    for release, listeners in releases.items():
        for listener, versions in sorted(listeners.items()):
            before = last.get(listener, {})
            changes = [f"-{key}" for key in sorted(before.keys() - versions.keys())]
            changes += [f"{key}:{low}-{high}" for key, (low, high) in sorted(versions.items())
                        if before.get(key) != (low, high)]  # fmt: skip
            table.append(f"{release} {listener}\n")
            table += [f"  {line}\n" for line in textwrap.wrap(" ".join(changes), 118, break_on_hyphens=False)]
            last[listener] = versions
    return table


if __name__ == "__main__":
    main()
