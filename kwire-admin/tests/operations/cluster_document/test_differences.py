"""Differences of two states: an empty plan for equal states, a safe order, and conflicts with an earlier document."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.client.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClientQuotaEntity,
    ConfigResource,
    ConfigResourceType,
    ResourceType,
    ScramMechanismName,
)
from kwire_admin.operations.cluster_document.differences import (
    DocumentAction,
    DocumentDifference,
    changed_since,
    compare,
)
from kwire_admin.operations.cluster_document.state import CONFIG_SECTIONS, DocumentState, Section, TopicSize
from kwire_admin.operations.cluster_document.steps import steps
from kwire_admin.operations.parameters import InvalidArgument
from tests.operations.cluster_document.test_document import states

if TYPE_CHECKING:
    from collections.abc import Iterable

ORDERS = ConfigResource(ConfigResourceType.TOPIC, "orders")
BROKERS = ConfigResource(ConfigResourceType.BROKER, "")


def acl(user: str, permission: AclPermissionType = AclPermissionType.ALLOW) -> AclBinding:
    return AclBinding(
        resource_type=ResourceType.TOPIC,
        resource_name="orders",
        principal=f"User:{user}",
        operation=AclOperation.READ,
        permission_type=permission,
    )


def described(differences: Iterable[DocumentDifference]) -> list[tuple[str, str, str | None, str | None, str]]:
    return [
        (difference.resource, difference.name, difference.old, difference.new, difference.action.value)
        for difference in differences
    ]


EMPTY = DocumentState(sections=frozenset(Section))
STATE = DocumentState(
    sections=frozenset(Section),
    configs={ORDERS: {"retention.ms": "1"}, BROKERS: {"log.retention.ms": "2", "ssl.key.password": None}},
    topics={"orders": TopicSize(6, 3)},
    quotas={ClientQuotaEntity(user="alice"): {"producer_byte_rate": 0.1}},
    acls=frozenset({acl("alice"), acl("eve", AclPermissionType.DENY)}),
    users={"alice": frozenset({ScramMechanismName.SCRAM_SHA_512})},
)


@settings(max_examples=10)
@given(state=states())
def test_equal_states_do_not_differ(state: DocumentState) -> None:
    assert compare(state, state, prune=True) == []


@settings(max_examples=20)
@given(current=states(), document=states())
def test_every_applied_difference_is_in_exactly_one_step(current: DocumentState, document: DocumentState) -> None:
    try:
        differences = compare(current, document, prune=True)
    except InvalidArgument:
        return  # a value for a secret
    assert len({difference.key for difference in differences}) == len(differences)
    stepped = [difference for step in steps(differences) for part in step.differences.values() for difference in part]
    assert sorted(map(repr, stepped)) == sorted(
        repr(difference) for difference in differences if difference.action.is_applied
    )


def test_new_cluster_gets_everything_but_secrets() -> None:
    assert described(compare(EMPTY, STATE)) == [
        ("broker/default", "log.retention.ms", None, "2", "created"),
        ("broker/default", "ssl.key.password", None, "<secret>", "manual"),
        ("topic/orders", "partitions", None, "6", "created"),
        ("topic/orders", "replication_factor", None, "3", "created"),
        ("topic/orders", "retention.ms", None, "1", "created"),
        ("quota/user alice", "producer_byte_rate", None, "0.10000000000000001", "created"),
        ("user/alice", "SCRAM-SHA-512", None, "<secret>", "manual"),
        ("acl/topic:orders", "User:eve READ from *", None, "DENY", "created"),
        ("acl/topic:orders", "User:alice READ from *", None, "ALLOW", "created"),
    ]


def test_surplus_is_kept_and_deleted_with_prune_except_topics_and_users() -> None:
    kept = compare(STATE, EMPTY)
    assert {difference.action for difference in kept} == {DocumentAction.KEEP}
    assert all(difference.reason.startswith("not in the document") for difference in kept)
    pruned = compare(STATE, EMPTY, prune=True)
    assert {difference.resource for difference in pruned if difference.action is DocumentAction.KEEP} == {
        "topic/orders",
        "user/alice",
    }
    assert described(pruned)[-2:] == [
        ("acl/topic:orders", "User:alice READ from *", "ALLOW", None, "deleted"),
        ("acl/topic:orders", "User:eve READ from *", "DENY", None, "deleted"),
    ]


def test_section_that_a_document_lacks_is_not_compared() -> None:
    assert compare(STATE, DocumentState(sections=frozenset({Section.GROUPS})), prune=True) == []


def test_sizes_of_topics() -> None:
    for stated, expected in (
        (TopicSize(8, 3), [("partitions", "6", "8", "changed")]),
        (TopicSize(None, None), []),
        (TopicSize(4, 2), [("partitions", "6", "4", "manual"), ("replication_factor", "3", "2", "manual")]),
    ):
        document = replace(STATE, topics={"orders": stated})
        assert [difference[1:] for difference in described(compare(STATE, document))] == expected


def test_value_of_a_secret_of_the_cluster_is_refused_without_showing_it() -> None:
    current = replace(STATE, configs={BROKERS: {"plugin.thing": None}})
    with pytest.raises(InvalidArgument, match=r"broker/default: plugin.thing is a secret") as error:
        compare(current, replace(STATE, configs={BROKERS: {"plugin.thing": "hunter2"}}))
    assert "hunter2" not in str(error.value)


def test_permissions_never_exceed_both_states_nor_fall_below_both() -> None:
    """After every step, what is allowed is allowed by one of the states, and what both allow is allowed."""
    users = ("a", "b", "c", "d")
    allow, deny = AclPermissionType.ALLOW, AclPermissionType.DENY

    def allowed(acls: frozenset[AclBinding]) -> set[str]:
        return {user for user in users if acl(user) in acls and acl(user, deny) not in acls}

    current = frozenset({acl("a"), acl("b", deny), acl("b"), acl("c"), acl("d", allow)})
    document = frozenset({acl("a", deny), acl("a"), acl("b"), acl("d"), acl("c", deny)})
    now = replace(EMPTY, acls=current)
    seen = [current]
    for step in steps(compare(now, replace(EMPTY, acls=document), prune=True)):
        changed = [difference for part in step.differences.values() for difference in part]
        subjects = {
            difference.subject: difference.action
            for difference in changed
            if isinstance(difference.subject, AclBinding)
        }
        new = {acl for acl, action in subjects.items() if action is DocumentAction.CREATE}
        seen.append((seen[-1] | new) - (subjects.keys() - new))
    assert seen[-1] == document
    assert len(list(pairwise(seen))) == 3
    for acls in seen:
        assert allowed(current) & allowed(document) <= allowed(acls) <= allowed(current) | allowed(document)


def test_only_planned_settings_that_have_changed_are_conflicts() -> None:
    document = replace(STATE, configs={**STATE.configs, ORDERS: {"retention.ms": "9"}})
    for now, conflicts in (
        ("1", []),  # as exported
        ("9", []),  # as in the document, such as after an interrupted run
        ("5", ["retention.ms"]),
    ):
        current = replace(STATE, configs={**STATE.configs, ORDERS: {"retention.ms": now}})
        planned = compare(current, document)
        assert [difference.name for difference in changed_since(STATE, current, planned)] == conflicts
    elsewhere = replace(STATE, configs={**STATE.configs, BROKERS: {"log.retention.ms": "3"}})
    assert [difference.name for difference in changed_since(STATE, elsewhere, compare(elsewhere, document))] == [
        "log.retention.ms"
    ]


def name_in_configs(state: DocumentState, difference: DocumentDifference) -> bool:
    subject, name = difference.key
    return isinstance(subject, ConfigResource) and name in state.configs.get(subject, {})


def value_in(state: DocumentState, difference: DocumentDifference) -> object:
    """Return the value of a setting in a state; None if the state has none."""
    subject, name = difference.key
    match subject:
        case ConfigResource() if name in ("partitions", "replication_factor"):
            return state.topics.get(subject.name)
        case ConfigResource():
            return state.configs.get(subject, {}).get(name)
        case ClientQuotaEntity():
            return state.quotas.get(subject, {}).get(name)
        case AclBinding():
            return subject in state.acls
    return state.users.get(str(subject))


@settings(max_examples=200)
@given(states(), states(), states(), st.sets(st.sampled_from(Section)))
def test_nothing_is_changed_that_is_not_as_in_the_base(
    base: DocumentState, current: DocumentState, mine: DocumentState, lacking: set[Section]
) -> None:
    """Whatever the base describes or lacks: a change that is not refused concerns a setting with its value of then."""
    base = without(base, lacking)
    try:
        planned = compare(current, mine, prune=True)
        conflicts = changed_since(base, current, planned)
    except InvalidArgument:  # a value for a secret
        return
    for difference in planned:
        if difference.action.is_applied and difference not in conflicts:
            before, now = value_in(base, difference), value_in(current, difference)
            is_secret = name_in_configs(base, difference) and before is None  # documents have no secrets
            assert before == now or is_secret or (difference.action is DocumentAction.CREATE and not now), difference


def without(state: DocumentState, sections: set[Section]) -> DocumentState:
    """Return a document that lacks some sections."""
    types = {CONFIG_SECTIONS[section] for section in sections if section in CONFIG_SECTIONS}
    return replace(
        state,
        sections=state.sections - sections,
        configs={resource: values for resource, values in state.configs.items() if resource.type not in types},
        topics={} if Section.TOPICS in sections else state.topics,
        quotas={} if Section.QUOTAS in sections else state.quotas,
        acls=frozenset() if Section.ACLS in sections else state.acls,
        users={} if Section.USERS in sections else state.users,
    )


def test_topic_that_was_created_since_the_base_is_a_conflict() -> None:
    new = ConfigResource(ConfigResourceType.TOPIC, "new")
    base = DocumentState(sections=frozenset(Section))
    current = replace(base, topics={"new": TopicSize(3, 1)}, configs={new: {"cleanup.policy": "compact"}})
    mine = replace(base, topics={"new": TopicSize(3, 1)}, configs={new: {"retention.ms": "777"}})
    planned = compare(current, mine)
    assert changed_since(base, current, planned) == planned != []
