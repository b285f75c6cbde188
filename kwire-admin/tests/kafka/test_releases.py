"""API versions of releases: the schemas in the jars of Kafka 3.9.1 and 4.4.0, and their running brokers."""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING, Any

from kwire.client import BlockingConnection
from kwire.releases import guess_release, releases
from tests.for_rows import for_rows
from tests.real_kafka.jars import jars

if TYPE_CHECKING:
    from tests.real_kafka import Kafka39, Kafka44


def schemas(folder: str, jar: str) -> list[dict[str, Any]]:
    """Return the schemas of requests in a jar of kafka-clients, which is a derivation without Kafka's classes."""
    with zipfile.ZipFile(jars(folder) / jar) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if name.endswith("Request.json")]
    return [json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)) for text in texts]


@for_rows(("folder", "patch_release"), [("kafka39", "3.9.1"), ("kafka44", "4.4.0")])
def test_versions_equal_the_schemas_in_kafkas_jars(folder: str, patch_release: str) -> None:
    expected: dict[str, dict[int, tuple[int, int]]] = {}
    for schema in schemas(folder, f"kafka-clients-{patch_release}.jar"):
        low, _, high = schema["validVersions"].partition("-")
        if low == "none":
            continue
        last = int(high or low) - schema.get("latestVersionUnstable", False)
        for listener in schema["listeners"] if last >= int(low) else ():
            name = {"zkBroker": "zk_broker"}.get(listener, listener)
            expected.setdefault(name, {})[schema["apiKey"]] = int(low), last

    name = patch_release.rpartition(".")[0]
    known = (*releases("zk_broker"), *releases("broker"), *releases("controller"))
    assert {entry.listener: entry.versions for entry in known if entry.name == name} == expected


def test_release_of_running_brokers_is_guessed(kafka39: Kafka39, kafka44: Kafka44) -> None:
    for cluster, name in ((kafka39, "3.9"), (kafka44, "4.4")):
        with BlockingConnection(cluster.bootstrap.split(",")[0]) as connection:
            guess = guess_release(connection.negotiated.response)
        assert (str(guess), guess.is_exact) == (name, True)
