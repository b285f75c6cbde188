"""Documents of a part of a cluster: what they do not name is listed, and does not differ."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.cli.running import kwire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORDERS = "  orders: {partitions: 1, replication_factor: 1, configs: {retention.ms: 7}}\n"


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with FakeCluster(brokers=1, topics=["billing", "orders"], partitions=1) as fake:
        for topic in ("billing", "orders"):
            fake.set_config("retention.ms", "7", topic=topic)
        yield fake.bootstrap


@pytest.mark.parametrize("topics", [f"topics:\n{ORDERS}", "topics: {}\n", ""])
def test_what_the_document_names_is_compared(bootstrap: str, tmp_path: Path, topics: str) -> None:
    file = tmp_path / "document.yaml"
    file.write_text(f"kwire: 1\n{topics}", encoding="utf-8")
    done = kwire("-b", bootstrap, "-o", "json", "configs", "diff", file)
    assert done.code == 0, done.err
    kept = [row["resource"] for row in json.loads(done.out) if row["status"] == "kept"]
    assert kept == (
        [] if not topics else ["topic/billing"] if "orders" in topics else ["topic/billing", "topic/orders"]
    )
    complete = kwire("-b", bootstrap, "configs", "diff", file, "--complete")
    assert complete.code == (6 if kept else 0), complete.err


def test_another_value_is_a_difference_beside_what_is_kept(bootstrap: str, tmp_path: Path) -> None:
    file = tmp_path / "document.yaml"
    file.write_text(f"kwire: 1\ntopics:\n{ORDERS}".replace("7", "8"), encoding="utf-8")
    done = kwire("-b", bootstrap, "configs", "diff", file)
    assert (done.code, "Settings that differ" in done.err, "kept" in done.out) == (6, True, True)


def test_names_that_collide_are_refused_as_a_whole(bootstrap: str, tmp_path: Path) -> None:
    file = tmp_path / "document.yaml"
    for names in (("m.1", "m_1", "fine"), ("or_ders.x", "or.ders_x")):
        topics = "".join(f"  {name}: {{partitions: 1, replication_factor: 1}}\n" for name in names)
        file.write_text(f"kwire: 1\ntopics:\n{topics}", encoding="utf-8")
        for words in (("configs", "apply", file, "--yes"), ("configs", "diff", file), ("topics", "create", *names)):
            done = kwire("-b", bootstrap, *words)
            assert (done.code, "collide" in done.err) == (2, True), done.err
    assert kwire("-b", bootstrap, "topics", "list").out.split()[0] == "NAME"
    assert "fine" not in kwire("-b", bootstrap, "topics", "list").out


def test_secret_of_a_broker_comes_from_a_file_or_stdin(bootstrap: str, tmp_path: Path) -> None:
    file = tmp_path / "keystore.properties"
    file.write_text("ssl.keystore.password=hunter2\n", encoding="utf-8")
    refused = kwire("-b", bootstrap, "configs", "set", "broker/1", "ssl.keystore.password=hunter2")
    assert (refused.code, "--from-file" in refused.err, "hunter2" in refused.err) == (2, True, False)
    for source, stdin in ((file, ""), ("-", "ssl.keystore.password=hunter2\n")):
        done = kwire("-b", bootstrap, "configs", "set", "topic/orders", "--from-file", source, "--dry-run", stdin=stdin)
        assert "expected KEY=VALUE" not in done.err
        assert "hunter2" not in done.out + done.err
    empty = kwire("-b", bootstrap, "configs", "set", "topic/orders", "--from-file", "-")
    assert (empty.code, "expected KEY=VALUE" in empty.err) == (2, True)
