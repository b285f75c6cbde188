"""Lists and descriptions of scripts while no broker is responsible for a part of them: stderr says what they lack."""

from __future__ import annotations

import random

import pytest

from kwire.client.admin.internal_topics import GROUPS, TRANSACTIONS, partition_of
from kwire.testing import FakeCluster
from kwire_admin.compat import run_script

LISTS = [
    ("kafka-consumer-groups", ["--list"], GROUPS),
    ("kafka-groups", ["--list"], GROUPS),
    ("kafka-share-groups", ["--list"], GROUPS),
    ("kafka-streams-groups", ["--list"], GROUPS),
    ("kafka-transactions", ["list"], TRANSACTIONS),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("script", "action", "topic"), LISTS, ids=[name for name, _, _ in LISTS])
def test_lists_warn_of_partitions_without_a_leader(
    script: str, action: list[str], topic: str, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    choose = random.Random(seed)
    count = choose.randint(1, 8)
    leaderless = sorted(choose.sample(range(count), choose.randint(0, count)))
    groups = [f"group-{number}" for number in range(8)]
    with FakeCluster(brokers=2) as cluster:
        cluster.create_topics([topic], count, internal=True)
        for partition in leaderless:
            cluster.remove_leader(topic, partition)
        cluster.set_groups({group: {} for group in groups})
        server = ["--bootstrap-server", cluster.bootstrap]
        assert run_script(script, [*server, *action] if script != "kafka-transactions" else [*server, "list"]) == 0
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == bool(leaderless)
    assert not leaderless or err.startswith(f"WARN: partition{'s' if len(leaderless) > 1 else ''} {leaderless[0]}")
    if script == "kafka-consumer-groups":
        assert out.split() == [group for group in groups if partition_of(group, count) not in leaderless]


def test_description_says_why_an_end_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeCluster(brokers=2) as cluster:
        cluster.create_topic("orders", assignment=[[1], [2]])
        cluster.set_ends("orders", {0: 10, 1: 10})
        cluster.set_groups({"billing": {"orders": {0: 4, 1: 4}}})
        cluster.stop_broker(2)
        server = ["--bootstrap-server", cluster.endpoint(1)]
        assert run_script("kafka-consumer-groups", [*server, "--describe", "--group", "billing"]) == 0
    out, err = capsys.readouterr()
    lines = [line.split()[1:6] for line in out.splitlines() if line.startswith("billing")]
    assert lines == [["orders", "0", "4", "10", "6"], ["orders", "1", "4", "-", "-"]]
    assert "WARN: the log end of orders-1 is not known: there is no leader, and no replica in sync" in err


@pytest.mark.parametrize("script", ["kafka-consumer-groups", "kafka-share-groups", "kafka-streams-groups"])
def test_no_script_says_that_a_group_without_a_coordinator_does_not_exist(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeCluster(brokers=1) as cluster:
        cluster.create_topics([GROUPS], 1, internal=True)
        cluster.set_groups({"billing": {}})
        cluster.remove_leader(GROUPS, 0)
        server = ["--bootstrap-server", cluster.bootstrap]
        timeout = ["--timeout", "500"] if script == "kafka-consumer-groups" else []
        run_script(script, [*server, *timeout, "--delete", "--group", "billing"])
        out, err = capsys.readouterr()
        assert "CoordinatorNotAvailableException" in out + err
        assert "does not exist" not in out + err
        assert f"is not a {script.split('-')[1]}" not in out + err
        run_script(script, [*server, "--describe", "--all-groups"])
        out, err = capsys.readouterr()
    assert f"WARN: partition 0 of {GROUPS} has no leader" in err
