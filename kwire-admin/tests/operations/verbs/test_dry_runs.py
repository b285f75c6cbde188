"""Every verb that changes something has a dry run that is compared with the real run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient
from kwire.messages import find
from kwire.testing import FakeCluster
from kwire_admin.operations import registry
from tests.operations.verbs.dry_runs import (
    ACCEPTED,
    ACCEPTED_ELSEWHERE,
    CHANGING,
    LAST,
    REFUSED,
    check_case,
    run_case,
    verb_of,
)
from tests.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("verb", CHANGING, ids=" ".join)
def test_dry_run_of_every_verb_is_compared(verb: tuple[str, str]) -> None:
    assert verb in map(verb_of, REFUSED), (
        "add a change that clusters refuse to kwire-admin/tests/operations/verbs/dry_runs.py"
    )
    if verb in ACCEPTED_ELSEWHERE:
        noun, name = verb
        assert f'"{noun}", "{name}"' in (ROOT / ACCEPTED_ELSEWHERE[verb]).read_text(encoding="utf-8")
    else:
        assert verb in map(verb_of, (*ACCEPTED, *LAST)), "add a change that clusters accept to dry_runs.py"


def test_only_verbs_that_declare_it_wait() -> None:
    waiting = {(noun, name) for noun, name in CHANGING if getattr(registry.find_verb(noun, name), "waits", False)}
    assert {("topics", "create"), ("partitions", "add"), ("features", "upgrade")} <= waiting
    assert ("groups", "delete") not in waiting


@pytest.mark.parametrize(
    ("case", "command"),
    [
        ("groups delete billing", "DeleteGroupsRequest"),
        ("groups delete-offsets billing orders:0", "OffsetDeleteRequest"),
        ("groups reset-offsets billing --to earliest", "OffsetCommitRequest"),
        ("offsets delete-records orders --before latest", "DeleteRecordsRequest"),
        ("topics delete orders", "DeleteTopicsRequest"),
        ("elections run orders:0", "ElectLeadersRequest"),
    ],
)
async def test_dry_run_fails_if_the_cluster_lacks_the_command(case: str, command: str) -> None:
    """Brokers of other vendors serve what describes groups, offsets, and topics, and often not what changes them."""
    with FakeCluster(brokers=2, topics=["orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 100, 1: 100})
        cluster.set_group("billing", {"orders": {0: 40, 1: 60}})
        cluster.move_leader("orders", 0, 2)
        cluster.set_api_versions(find("kafka", name=command).api_key, 0, -1)
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            for dry_run in (True, False):
                result = await run_case(admin, case, {}, dry_run=dry_run)
                assert f"no common version of {command}" in str(result.error), result


FILES = {
    "good": b"orders,0,1\n",
    "group": b"billing,orders,0,2\nother,orders,0,3\n",
    "unknown": b"nosuch,0,1\n",
    "mixed": b"orders,0,1\nnosuch,0,1\norders,9,1\n",
    "beyond": b"orders,0,999\n",
    "twice": b"orders,0,1\norders,0,2\n",
    "other": b"other,orders,0,1\n",
    "empty": b"",
    "text": b"orders;0;1\n",
    "latin": "größe,0,1\n".encode("latin-1"),
    "utf16": "orders,0,3\n".encode("utf-16"),
    "zero": b"orders,0,1\0\n",
}
"""Files of `groups reset-offsets --from-file`."""


async def test_dry_run_reads_a_file_of_offsets_as_the_real_run(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    with FakeCluster(brokers=2, topics=["orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 100, 1: 100})
        cluster.set_group("billing", {"orders": {0: 40, 1: 60}})
        cluster.set_group("busy", {"orders": {0: 40}}, members=1)
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            for group in ("billing", "busy", "new"):
                for name in (*FILES, "folder", "nosuch"):
                    case = f"groups reset-offsets {group} --from-file {{folder}}/{name}"
                    real = await check_case(admin, case, {"folder": tmp_path})
                    is_sound = name in ("good", "utf16") or (name, group) == ("group", "billing")
                    assert real.is_refused is (group == "busy" or not is_sound), (case, real)


async def test_dry_runs_say_what_changes_of_groups_and_offsets_do() -> None:
    with FakeCluster(brokers=3, topics=["orders", "audit"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 100, 1: 100})
        cluster.set_group("billing", {"orders": {0: 40, 1: 60}, "audit": {0: 0}})
        cluster.set_group("busy", {"orders": {0: 40, 1: 60}}, members=2)
        async with await AdminClient.open(cluster.bootstrap, timeout=5) as admin:
            for case in (
                "groups reset-offsets billing --to earliest",
                "groups reset-offsets billing --to earliest",
                "groups reset-offsets new --to latest --topic orders",
                "groups reset-offsets billing --shift-by 7",
                "offsets delete-records orders:0 --before 10",
                "offsets delete-records orders:0 orders:9 nosuch --before 5",
                "groups reset-offsets billing --to 5 --topic orders:0",
                "groups delete-offsets billing orders:0",
                "groups delete-offsets billing orders audit",
                "groups delete-offsets busy orders",
                "groups delete billing busy new nosuch",
                "topics delete audit nosuch",
            ):
                await check_case(admin, case, {})
            assert [group.group_id for group in await admin.list_groups()] == ["busy"]
            assert [*await admin.describe_topics()] == ["orders"]
