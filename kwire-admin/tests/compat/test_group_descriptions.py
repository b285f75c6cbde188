"""Lines of `kafka-consumer-groups --describe` by release.

`tests/kafka/oracle` of kwire-zookeeper-tools compares them with those of Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from kwire.messages.kafka.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions
from kwire.testing import FakeCluster
from kwire_admin.compat import run_script
from kwire_admin.compat.group_descriptions import epoch_columns
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator


def described(cluster: FakeCluster, capsys: pytest.CaptureFixture[str], release: str | None, *words: str) -> str:
    """Return stdout of a description that succeeds."""
    arguments = ("--bootstrap-server", cluster.bootstrap, "--describe", *words)
    assert run_script("kafka-consumer-groups", arguments, release) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1, topics=["orders"], partitions=2) as fake:
        fake.set_ends("orders", {0: 10, 1: 10})
        fake.set_groups({name: {"orders": {0: 1}} for name in ("billing", "idle", "x" * 30)})
        yield fake


@for_rows("release", [None, "3.9.1", "4.4.0"], ids=["default", "3.9.1", "4.4.0"])
def test_state_has_the_columns_of_the_release(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], release: str | None
) -> None:
    _, titles, row = described(cluster, capsys, release, "--group", "idle", "--state", "--verbose").splitlines()
    columns = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    positions = [0, 26, 52, 73, 89]
    if release == "4.4.0":
        columns[4:] = ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"]
        positions = [0, 16, 42, 63, 84, 100, 126]
    assert [titles.index(column) for column in columns] == positions
    assert row[positions[3] :].split() == ["Empty", *(["-", "-"] if release == "4.4.0" else []), "0"]
    assert row[positions[2] : positions[3]].strip() == ("-" if release == "4.4.0" else "")


def test_lists_have_the_columns_of_their_options(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    for options, titles in (("--state",), ["STATE"]), (("--state", "--type"), ["TYPE", "STATE"]):
        assert run_script("kafka-consumer-groups", ["--bootstrap-server", cluster.bootstrap, "--list", *options]) == 0
        header, first, *_ = capsys.readouterr().out.splitlines()
        assert header.split() == ["GROUP", *titles]
        assert first.split()[0] == "billing"


def test_widths_of_3_9_1_do_not_depend_on_the_group(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    _, titles, row = described(cluster, capsys, None, "--group", "x" * 30, "--state").splitlines()
    assert titles.index("COORDINATOR") == 26
    assert row.startswith(f"{'x' * 30} 127.0.0.1")


def test_tables_of_offsets_follow_each_other_as_in_the_release(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = ("--group", "idle", "--group", "billing", "--group", "idle")
    old, new = (described(cluster, capsys, release, *groups).split("\n") for release in ("3.9.1", "4.4.0"))
    assert [line.split(" ")[0] for line in old] == ["", "GROUP", "billing", "GROUP", "idle", ""]
    assert [line.split(" ")[0] for line in new] == ["", "GROUP", "billing", "", "GROUP", "idle", ""]


@for_rows("release, widths", [("3.9.1", (30, 15)), ("4.4.0", (15, 10))], ids=["3.9.1", "4.4.0"])
def test_table_of_deleted_offsets_is_padded_to_its_end(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], release: str, widths: tuple[int, int]
) -> None:
    words = ("--bootstrap-server", cluster.bootstrap, "--delete-offsets", "--group", "idle", "--topic", "orders:1")
    run_script("kafka-consumer-groups", words, release)
    first, second = widths
    *_, titles, row = capsys.readouterr().out.splitlines()
    assert titles == f"{'TOPIC':<{first}} {'PARTITION':<{second}} {'STATUS':<15}"
    assert row == f"{'orders':<{first}} {1:<{second}} {'Successful':<15}"


def test_unknown_group_ends_4_4_0_only(cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    groups = ("--group", "billing", "--group", "nosuch")
    assert "Consumer group 'nosuch' does not exist." in described(cluster, capsys, "3.9.1", *groups)
    new = described(cluster, capsys, "4.4.0", *groups)
    assert new.startswith("\nError: Executing consumer group command failed due to org.apache.kafka.common.errors.")
    assert "billing" not in new


def test_members_of_an_unknown_group_have_titles_in_3_9_1(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "#PARTITIONS" in described(cluster, capsys, "3.9.1", "--group", "nosuch", "--members")
    assert "#PARTITIONS" not in described(cluster, capsys, "4.4.0", "--group", "nosuch", "--members")


def test_verbose_members_name_epochs_and_members_that_are_not_upgraded() -> None:
    orders = TopicPartitions(topic_id=UUID(int=1), topic_name="orders", partitions=(1,))
    first, second = (
        Member(
            member_id=id,
            member_epoch=epoch,
            client_id="",
            client_host="",
            subscribed_topic_names=(),
            assignment=Assignment(topic_partitions=()),
            target_assignment=Assignment(topic_partitions=target),
            member_type=type,
        )
        for id, epoch, target, type in (("a", 3, (orders,), 0), ("b", 2, (), 1))
    )
    group = DescribedGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        group_epoch=3,
        assignment_epoch=3,
        assignor_name="uniform",
        members=(first, second),
    )
    titles, *rows = epoch_columns(["a", "b"], [{"orders": (10, 9)}, {}], group)
    assert titles == ("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED")
    assert rows == [("3", "orders:9,10", "3", "orders:1", "false"), ("2", "-", "3", "-", "true")]
    assert [row[-1] for row in epoch_columns(["b"], [{}], group)] == ["TARGET-ASSIGNMENT", "-"]
    assert epoch_columns(["a"], [{"orders": (0,)}], None)[1] == ("-", "orders:0", "-", "-")


@for_rows(
    ("words", "sentence"),
    [
        (("--describe", "--group", "g", "--state", "--members"), "Option [describe] takes at most one of these"),
        (("--describe", "--group", "g", "--all-groups"), 'Option "[group]" can\'t be used with option "[all-groups]"'),
        (("--describe", "--group", "g", "--state", "Stable"), "Option [describe] does not take a value for [state]"),
        (("--list", "--group", "g"), 'Option "[group]" can\'t be used with option "[list]"'),
        (("--list", "--members"), "Option(s) [members] are unavailable given other options on the command line"),
        (("--list", "--state", "nosuch"), "Invalid state list 'nosuch'. Valid states are: PreparingRebalance, "),
        (("--delete", "--group", "g", "--topic", "t"), "The consumer does not support topic-specific offset deletion"),
    ],
    ids=lambda words: words[-1] if isinstance(words, tuple) else "",
)
def test_options_that_do_not_fit_together_are_refused_as_by_kafka(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert run_script("kafka-consumer-groups", ("--bootstrap-server", cluster.bootstrap, *words)) == 1
    assert capsys.readouterr().err.startswith(sentence)
