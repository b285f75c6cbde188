"""Behavior of the administration commands on every kind of cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.cli.running import Run, kwire
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from pathlib import Path


class Operator:
    """Runs the command against one cluster.

    Attributes:
        bootstrap: the addresses of the cluster.
        config: the client.properties for a secured cluster.
    """

    def __init__(self, bootstrap: str, config: Path | None = None) -> None:
        self.bootstrap = bootstrap
        self.config = config

    def run(self, *arguments: str | Path, stdin: str = "") -> Run:
        secured = () if self.config is None else ("--command-config", self.config)
        return kwire("-b", self.bootstrap, *secured, *arguments, stdin=stdin)

    def json(self, *arguments: str | Path, code: int = 0, stdin: str = "") -> list[dict[str, Any]]:
        """Return the array that a command prints."""
        run = self.run("-o", "json", *arguments, stdin=stdin)
        assert run.code == code, run.err
        rows: list[dict[str, Any]] = json.loads(run.out)
        return rows

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic that keeps its records, as soon as an earlier one of this name is gone.

        Kafka on ZooKeeper answers a deletion once its brokers do not know the topic, but keeps the name until all
        replicas are deleted.
        """
        create = ["topics", "create", name, "-p", str(partitions), "-r", "1", "--config", "retention.ms=-1"]

        def is_created() -> bool:
            run = self.run(*create)
            assert run.code == 0 or "marked for deletion" in run.err, run.err
            return run.code == 0

        eventually_sync(is_created, f"{name} is created")


def check_topics(operator: Operator, exists_code: int) -> None:
    """Create, describe, change, and delete topics."""
    created = operator.json(
        "topics", "create", "apples", "pears", "-p", "2", "-r", "1", "--config", "retention.ms=1000"
    )
    assert created == [{"name": name, "status": "created", "attempts": 1} for name in ("apples", "pears")]
    [refused] = operator.json("topics", "create", "apples", "-p", "2", "-r", "1", code=1)
    assert (refused["name"], refused["error"]["code"]) == ("apples", exists_code)
    assert refused["error"]["name"] == "TOPIC_ALREADY_EXISTS"

    for name, pattern in (("apples", "app*s"), ("pears", "pear?")):
        assert [topic["name"] for topic in operator.json("topic", "ls", pattern)] == [name]
    [apples] = operator.json("topics", "describe", "apples")
    assert apples["configs"] == {"retention.ms": "1000"}
    assert [partition["partition"] for partition in apples["partitions"]] == [0, 1]
    assert all(partition["leader"] is not None for partition in apples["partitions"])
    assert operator.json("topics", "describe", "--only", "under-replicated") == []

    misspelled = operator.run("topics", "describe", "aples")
    assert misspelled.code == 1
    assert "did you mean apples" in misspelled.err
    assert misspelled.out == ""

    altered = operator.json("topics", "alter", "apples", "--partitions", "3", "--config", "retention.ms=7")
    assert altered[0]["status"] == "altered"
    [same] = operator.json("topics", "alter", "apples", "--partitions", "3")
    assert (same["status"], same["attempts"]) == ("unchanged: 3 partitions already", 0)
    dry = operator.json("partitions", "add", "apples", "--by", "2", "--dry-run")
    assert dry == [{"name": "apples", "status": "would be changed from 3 to 5 partitions", "attempts": 1}]
    assert operator.json("partitions", "add", "apples", "--by", "1")[0]["status"] == "changed from 3 to 4 partitions"
    assert operator.json("partition", "add", "apples", "--to", "5")[0]["status"] == "changed from 4 to 5 partitions"
    fewer = operator.run("partitions", "add", "apples", "--to", "5")
    assert (fewer.code, "topic apples has 5 partitions already" in fewer.err) == (2, True)
    assert operator.run("partitions", "add", "apples").code == 2
    elected = operator.json("elections", "run", "apples", "pears:0")
    assert operator.json("elections", "run", "apples", "pears:0", "--dry-run") == elected
    assert {row["status"] for row in elected} == {"unchanged"}
    assert {row["name"].partition("-")[0] for row in elected} == {"apples", "pears"}
    everywhere = operator.run("elections", "run", "--type", "unclean", "--yes")
    assert (everywhere.code, "give TOPIC[:N] with --type unclean" in everywhere.err) == (2, True)
    nothing = operator.run("topics", "alter", "apples")
    assert nothing.code == 2
    assert "give at least one of --partitions" in nothing.err

    unconfirmed = operator.run("topics", "delete", "pears")
    assert unconfirmed.code == 2
    assert "Delete pears and all records? Confirm with --yes" in unconfirmed.err
    assert operator.json("topics", "delete", "pears", "--dry-run")[0]["status"] == "would be deleted"
    assert operator.json("topics", "rm", "apples", "pears", "--yes")[0]["status"] == "deleted"
    assert operator.json("topics", "list", "app*s") == []
    assert operator.json("topics", "list", "pear?") == []


def check_cluster(operator: Operator, brokers: list[int]) -> None:
    """Describe the cluster, and list reassignments in the form of the KIP-4 drafts."""
    [cluster] = operator.json("cluster", "describe")
    assert [broker["broker"] for broker in cluster["brokers"]] == brokers
    assert cluster["controller"] in brokers
    status = operator.run("-a", "reassign-partition", "status")
    assert (status.code, status.out, status.err) == (0, "", "No reassignments are in progress.\n")
    assert operator.json("reassign-partitions", "status") == []
