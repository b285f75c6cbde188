"""The jars of the ZooKeeper server: those of PySpark if it is installed, or the same ones from a Maven repository.

A download takes 7 MB, once for a user. Each file must have its SHA-256, the hash of the file in PySpark 4.2.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from kwire.errors import KwireError

REPOSITORY = "KWIRE_MAVEN_REPOSITORY"
"""The variable with the address of the repository. There is no default: where jars come from is the user's choice."""
TIMEOUT_S = 60.0
"""Timeout in seconds of a read from the repository."""
# Opening all 300 jars of PySpark would double the start time. With `-verbose:class`, the server loads from these only.
JARS = {
    "org/apache/zookeeper/zookeeper/3.9.5": "936d025db1a85f085edea25048c3f5b3de5fc29329c371a10925e3b78b0b38a0",
    "org/apache/zookeeper/zookeeper-jute/3.9.5": "abcbc7f9d6c493daa118da6fa3061a201e2c521217526e8535adfb56b629e52a",
    "org/slf4j/slf4j-api/2.0.17": "7b751d952061954d5abfed7181c1f645d336091b679891591d63329c622eb832",
    "org/apache/logging/log4j/log4j-api/2.25.4": "c4b642a7f047275215de117e0e3847eb2c7711d84a0aa7433e7b3c096daf341d",
    "org/apache/logging/log4j/log4j-core/2.25.4": "10fee2c0485d54fa44ee75d314f6295508f7b932281873db61a91b88073200e6",
    "org/apache/logging/log4j/log4j-slf4j2-impl/2.25.4": (
        "dd897abc5eb3a6d965426c7937b92dd43e67c82d9819bea5d19f311516c68be3"
    ),
    "io/dropwizard/metrics/metrics-core/4.2.37": "3c70d19049d10f474ab803706b9c0677bcf5fd9e1afeb4f6c496f62e38b27678",
    "org/xerial/snappy/snappy-java/1.1.10.8": "50485d06037fea3d6e40c968386feeca6338cc9872e25549593ff3eb352cefcc",
}
"""SHA-256 by the folder of a jar in the repository."""


class JarsMissing(KwireError):
    """The jars cannot be downloaded, or a file is not the expected one."""


def server_classpath() -> str:
    """Return the class path of the server, after a download if necessary.

    Raises:
        JarsMissing: see the class.
    """
    spec = find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "jars"
        # Another version of PySpark has other versions of the jars.
        jars = [next(folder.glob(f"{_name(jar)}-[0-9]*.jar"), None) for jar in JARS]
        if None not in jars:
            return os.pathsep.join(str(jar) for jar in jars)
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kwire" / "zookeeper-3.9.5"
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(JARS)) as pool:
        return os.pathsep.join(pool.map(lambda jar: str(_downloaded(folder, *jar)), JARS.items()))


def _name(jar: str) -> str:
    return jar.split("/")[-2]


def _downloaded(folder: Path, jar: str, digest: str) -> Path:
    """Return the file of a jar. It has its name once it is complete, so several processes may download it at a time."""
    name = f"{_name(jar)}-{jar.rpartition('/')[2]}.jar"
    path = folder / name
    if path.is_file():
        return path
    repository = os.environ.get(REPOSITORY)
    if not repository:
        raise JarsMissing(
            f"ZooKeeper's {name} is missing: set {REPOSITORY} to the address of a Maven repository, for example "
            "Maven Central; or run `pip install 'kwire[spark]'`, which has the jars; or use a running ZooKeeper"
        )
    url = f"{repository.rstrip('/')}/{jar}/{name}"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:  # noqa: S310  # the user names the repository, and files have known hashes
            content: bytes = response.read()
    except (OSError, ValueError) as error:
        raise JarsMissing(
            f"cannot download ZooKeeper's {name} from {url}: {error}. Set HTTPS_PROXY, or KWIRE_MAVEN_REPOSITORY to "
            "another address; or run `pip install 'kwire[spark]'`, which has the jars; or use a running ZooKeeper"
        ) from None
    actual = hashlib.sha256(content).hexdigest()
    if actual != digest:
        raise JarsMissing(f"{url} has the SHA-256 {actual}, expected {digest}: check the repository")
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
    return path
