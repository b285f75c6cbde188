"""Lists of groups and transactional ids while no broker is responsible for some of them."""

from __future__ import annotations

import random

import pytest

from kwire.client.admin import AdminClient, AdminError
from kwire.client.admin.internal_topics import GROUPS, TRANSACTIONS, partition_of
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.terminal.problems import REFUSED, UNKNOWN, UNREACHABLE, exit_code
from kwire.testing import FakeCluster
from kwire_admin.cli.verb_run import exit_code_of_items
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.groups import lag
from kwire_admin.operations.verbs.groups import list_ as list_groups
from kwire_admin.operations.verbs.transactions import list_ as list_transactions


@pytest.mark.parametrize("seed", range(6))
async def test_lists_name_the_partitions_without_a_leader(seed: int) -> None:
    choose = random.Random(seed)
    count = choose.randint(1, 12)
    leaderless = sorted(choose.sample(range(count), choose.randint(0, count)))
    groups = [f"group-{number}" for number in range(8)]
    with FakeCluster(brokers=2, topics=["orders"]) as cluster:
        for topic in (GROUPS, TRANSACTIONS):
            cluster.create_topics([topic], count, internal=True)
            for partition in leaderless:
                cluster.remove_leader(topic, partition)
        cluster.set_groups({group: {"orders": {0: 0}} for group in groups})
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            for verb, topic, what in (
                (list_groups, GROUPS, "groups"),
                (lag, GROUPS, "groups"),
                (list_transactions, TRANSACTIONS, "transactional ids"),
            ):
                warnings: list[str] = []
                run = Run(admin, warn=warnings.append)
                rows = await (lag(run, groups=[]) if verb is lag else verb(run))
                if what == "groups":
                    known = {group for group in groups if partition_of(group, count) not in leaderless}
                    assert {row.name for row in rows} == known
                assert len(warnings) == bool(leaderless)
                for warning in warnings:
                    shown = ", ".join(map(str, leaderless[:5]))
                    assert warning.startswith(("partition ", "partitions ")), warning
                    assert warning.removeprefix("partition").removeprefix("s").startswith(f" {shown} ")
                    assert f"of {topic} ha" in warning
                    assert warning.endswith(f"no leader: the {what} there are not known.")


async def test_lists_name_the_brokers_that_do_not_answer() -> None:
    with FakeCluster(brokers=3) as cluster:
        cluster.stop_broker(2, fence=False)
        cluster.stop_broker(3, fence=False)
        async with await AdminClient.open(cluster.endpoint(1), timeout=30) as admin:
            await admin.describe_cluster()
            ticks = iter(range(0, 10**6, 4))
            admin.router.metadata.clock = lambda: float(next(ticks))
            for verb, what in ((list_groups, "groups"), (list_transactions, "transactional ids")):
                warnings: list[str] = []
                assert await verb(Run(admin, warn=warnings.append)) == []
                assert [warning.split(":")[0] for warning in warnings] == [
                    f"the {what} that broker {broker} coordinates are not known" for broker in (2, 3)
                ]


@pytest.mark.parametrize("code", ErrorCode)
def test_only_a_missing_responsible_broker_is_unreachable(code: ErrorCode) -> None:
    missing = {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
    }
    status = exit_code(AdminError.of_kafka(code, "billing"))
    assert (status == UNREACHABLE) == (code in missing)
    assert (status == UNKNOWN) == (code == ErrorCode.REQUEST_TIMED_OUT)
    assert status in (REFUSED, UNKNOWN) or code in missing or "AUTH" in code.name


@pytest.mark.parametrize("code", ErrorCode)
def test_partitions_without_a_leader_beside_others_are_refused_items(code: ErrorCode) -> None:
    error = AdminError.of_kafka(code, "orders-1")
    alone, beside_others = (exit_code_of_items([error], is_part=is_part) for is_part in (False, True))
    assert alone == exit_code(error)
    assert beside_others == (REFUSED if alone == UNREACHABLE else alone)
