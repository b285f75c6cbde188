"""Names that complete command lines, from real Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.administration import Operator
from tests.cli.running import kwire
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.real_kafka import KafkaCluster


@pytest.fixture(scope="module")
def shop(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A topic, a group, and a user, and an empty cache."""
    operator = Operator(cluster.bootstrap)
    operator.json("topics", "create", "shop-orders", "-p", "1", "-r", "1")
    operator.json("groups", "reset-offsets", "shop-billing", "--topic", "shop-orders", "--to", "earliest", "--yes")
    operator.json("users", "set", "shop-alice", "--password-file", "-", stdin="hidden-text\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield cluster
    operator.json("users", "delete", "shop-alice", "--yes")
    operator.json("groups", "delete", "shop-billing", "--yes")
    operator.json("topics", "delete", "shop-orders", "--yes")


def completed(cluster: KafkaCluster, line: str) -> list[str]:
    done = kwire("__complete", "fish", "-b", cluster.bootstrap, *line.split(" "))
    assert (done.code, done.err) == (0, "")
    return done.out.split()


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("topics describe shop", ["shop-orders"]),
        ("groups lag shop", ["shop-billing"]),
        ("users delete shop", ["shop-alice"]),
        ("log-dirs list --broker ", ["1"]),
        ("configs get topic/shop-orders retention.b", ["retention.bytes"]),
        ("configs set topic/shop-orders retention.b", ["nospace", "retention.bytes="]),
        ("configs get broker/1 log.retention.b", ["log.retention.bytes"]),
        ("topics create new --config retention.b", ["nospace", "retention.bytes="]),
        ("acls list user:shop", ["user:shop-alice"]),
        ("acls add topic:shop-orders --principal User:shop", ["User:shop-alice"]),
        ("groups reset-offsets shop-billing --topic shop", ["shop-orders"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_live_names(line: str, candidates: list[str], shop: KafkaCluster) -> None:
    # Tab waits only for a moment for names, which are fetched meanwhile.
    eventually_sync(lambda: completed(shop, line) == candidates, f"{line!r} is completed with {candidates}")
