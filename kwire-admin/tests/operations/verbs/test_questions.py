"""Questions come after the plan: a person sees what a dry run shows before the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AdminClient, CommittedOffset, ConfigResource, ConfigResourceType, TopicPartition
from kwire.testing import FakeCluster
from kwire_admin.operations.cluster_document.application import DocumentPlan
from kwire_admin.operations.cluster_document.differences import DocumentAction, DocumentDifference
from kwire_admin.operations.cluster_document.state import DocumentState, Section
from kwire_admin.operations.rows import json_value
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.configs import documents
from kwire_admin.operations.verbs.features import downgrade, upgrade
from kwire_admin.operations.verbs.groups import reset_offsets as reset_module
from kwire_admin.operations.verbs.groups.reset_offsets import reset_offsets
from kwire_admin.operations.verbs.offsets import delete_records

if TYPE_CHECKING:
    from collections.abc import Sequence


class Answered(Exception):
    """The answer is no."""


async def asked(admin: AdminClient, verb: Any, **arguments: Any) -> tuple[list[Any], list[Any]]:
    """Return the rows that are shown before the question, and the rows of a dry run."""
    shown: list[Any] = []

    def show(rows: Sequence[Any]) -> None:
        shown.extend(rows)

    def confirm(question: str) -> None:
        raise Answered(question)

    planned = [*await verb(Run(admin, dry_run=True), **arguments)]
    with pytest.raises(Answered):
        await verb(Run(admin, confirm=confirm, show_plan=show), **arguments)
    return [*map(json_value, shown)], [*map(json_value, planned)]


async def test_plan_is_shown_before_the_question() -> None:
    with FakeCluster(brokers=1, topics=["orders"], partitions=3) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 20, 2: 30}, {0: 1, 1: 0, 2: 0})
        cluster.set_group("billing", {"orders": {0: 5, 1: 6, 2: 0}})
        async with await AdminClient.open(cluster.bootstrap) as admin:
            shown, planned = await asked(admin, reset_offsets, group="billing", to="earliest")
            assert json.dumps(shown) == json.dumps([row for row in planned if row["status"] == "would be reset"])
            assert [(row["partition"], row["before"], row["after"]) for row in shown] == [(0, 5, 1), (1, 6, 0)]
            shown, planned = await asked(admin, delete_records, partitions=["orders"], before="latest")
            assert shown == planned
            assert len(shown) == 3


async def test_reset_says_that_it_creates_a_group() -> None:
    warned: list[str] = []
    with FakeCluster(brokers=1, topics=["orders"], partitions=1) as cluster:
        cluster.set_group("billing", {"orders": {0: 5}})
        async with await AdminClient.open(cluster.bootstrap) as admin:
            for group in ("billing", "typo"):
                await reset_offsets(
                    Run(admin, dry_run=True, warn=warned.append), group=group, to="earliest", topic=["orders:0"]
                )
    assert warned == ["There is no group typo: this creates it."]


async def test_reset_of_a_share_group_forgets_acknowledgements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start offset stays as it is, but the records behind it that were acknowledged are delivered again."""
    offsets = {
        TopicPartition("orders", 0): CommittedOffset(0, lag=4),  # 6 of 10 are acknowledged
        TopicPartition("orders", 1): CommittedOffset(0, lag=20),  # none
        TopicPartition("orders", 2): CommittedOffset(0),  # an earlier broker does not say
    }

    async def listed(*_: object) -> dict[TopicPartition, CommittedOffset]:
        return offsets

    async def is_share(*_: object) -> bool:
        return True

    monkeypatch.setattr(reset_module, "list_offsets", listed)
    monkeypatch.setattr(reset_module, "is_share_group", is_share)
    with FakeCluster(brokers=1, topics=["orders"], partitions=3) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 20, 2: 30})
        cluster.set_group("queue", {"orders": {}})
        cluster.set_api_versions(91, 0, 0)  # AlterShareGroupOffsets, which a dry run does not send
        async with await AdminClient.open(cluster.bootstrap) as admin:
            run = Run(admin, dry_run=True)
            for to, statuses in (
                ("earliest", ["would be reset", "unchanged", "would be reset"]),
                ("0", ["would be reset", "unchanged", "would be reset"]),
                ("current", ["unchanged"] * 3),
            ):
                rows = await reset_offsets(run, group="queue", to=to)
                assert [json_value(row)["status"] for row in rows] == statuses


async def test_levels_of_several_features_are_shown_before_the_question() -> None:
    shown: list[Any] = []

    def confirm(question: str) -> None:
        raise Answered(question)

    with FakeCluster(brokers=1) as cluster:
        async with await AdminClient.open(cluster.bootstrap) as admin:
            run = Run(admin, confirm=confirm, show_plan=shown.extend)
            with pytest.raises(Answered, match=r"^Downgrade a=2\?$"):
                await upgrade(run, features=["b=3"], downgrade=["a=2"])
            assert [(row.name, row.status) for row in shown] == [
                ("b", "would be upgraded to 3"),
                ("a", "would be downgraded to 2"),
            ]
            shown.clear()
            with pytest.raises(Answered, match=r"^Downgrade a=2\?$"):
                await downgrade(run, features=["a=2"])
            assert shown == []  # the question says it all


@pytest.mark.parametrize(
    ("actions", "question"),
    [
        ([DocumentAction.CHANGE], "Change 1 setting of cluster prod?"),
        ([DocumentAction.CREATE] * 2 + [DocumentAction.KEEP], "Create 2 settings of cluster prod?"),
        (
            [DocumentAction.DELETE, DocumentAction.CREATE, DocumentAction.CHANGE, DocumentAction.CHANGE],
            "Create 1 setting, change 2 settings and delete 1 setting of cluster prod?",
        ),
    ],
)
def test_question_about_a_document_counts_each_kind_of_change(actions: list[DocumentAction], question: str) -> None:
    topic = ConfigResource(ConfigResourceType.TOPIC, "orders")
    differences = [DocumentDifference(Section.TOPICS, topic, "retention.ms", "1", "2", action) for action in actions]
    document = DocumentState(cluster_id="prod", sections=frozenset({Section.TOPICS}))
    assert documents._question(DocumentPlan(document, "prod", differences, prune=False)) == question
