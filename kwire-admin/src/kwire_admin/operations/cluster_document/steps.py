"""Steps that apply differences: one request each, which the cluster can also check without making it.

A step has the same effect if it is repeated, except the creation of topics, which then fails without harm.

The cluster decides which names and values exist. It checks all configs of a resource together and reports one error, so
those of a refused resource are checked one by one to find the refused ones. Only the names of configs of Kafka's
brokers are compared here with what brokers report, because brokers store any name.
"""

from __future__ import annotations

import json
from collections import defaultdict

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, TypeAlias, cast
from kwire.client.admin import (
    AclBinding,
    AclPermissionType,
    AdminError,
    ClientQuotaEntity,
    ConfigChange,
    ConfigResource,
    NewTopic,
    TopicChange,
)
from kwire.client.admin.kip4_tools import tool_result
from kwire_admin.operations.cluster_document.differences import (
    FACTOR,
    SIZE,
    DocumentAction,
    DocumentDifference,
    Subject,
)
from kwire_admin.operations.cluster_document.state import Section
from kwire_admin.operations.config_changes import unknown_config

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from kwire.client.admin import AdminClient

    Refusals: TypeAlias = dict[Subject, AdminError]
    Grouped: TypeAlias = Mapping[Subject, Sequence[DocumentDifference]]
    Send: TypeAlias = Callable[[AdminClient, Grouped, bool], Awaitable[Refusals]]


SUBJECTS_PER_STEP = 500
"""Subjects in one request that changes configs, quotas, or ACLs. Chosen, not measured."""
TOPICS_PER_STEP = 100
"""New topics in one request: a controller creates some hundred partitions in a second. Chosen, not measured."""
ARGUMENT_LENGTH = 8_000
"""Characters of one argument of a tool of nodes, which holds at most 32,767 bytes."""


@dataclass(frozen=True, slots=True)
class Step:
    """Differences that one request applies.

    Attributes:
        what: the things that it changes, such as `topics`.
        differences: the differences by subject.
    """

    what: str
    differences: Grouped
    _send: Send

    async def check(self, admin: AdminClient, part: Grouped | None = None) -> Refusals:
        """Let the cluster check the step, or a part of it, and return by subject why it refuses it."""
        return await self._send(admin, self.differences if part is None else part, True)

    async def carry_out(self, admin: AdminClient) -> Refusals:
        """Send the request, and return by subject why the cluster refuses it."""
        return await self._send(admin, self.differences, False)


def by_subject(differences: Iterable[DocumentDifference]) -> dict[Subject, list[DocumentDifference]]:
    """Return differences by what they are of, in their order."""
    grouped: dict[Subject, list[DocumentDifference]] = defaultdict(list)
    for difference in differences:
        grouped[difference.subject].append(difference)
    return dict(grouped)


def steps(differences: Sequence[DocumentDifference]) -> Iterator[Step]:
    """Return the steps for differences, in the order of the sections."""
    for section in Section:
        of_section = [
            difference for difference in differences if difference.section is section and difference.action.is_applied
        ]
        match section:
            case Section.TOPICS:
                new = {
                    difference.subject
                    for difference in of_section
                    if difference.name == SIZE and difference.action is DocumentAction.CREATE
                }
                created = [difference for difference in of_section if difference.subject in new]
                grown = [
                    difference for difference in of_section if difference.subject not in new and difference.name == SIZE
                ]
                configs = [
                    difference for difference in of_section if difference.subject not in new and difference.name != SIZE
                ]
                yield from _parts("topics", created, _create_topics, TOPICS_PER_STEP)
                yield from _parts("partitions", grown, _add_partitions)
                yield from _parts("configs of topics", configs, _alter_configs)
            case Section.QUOTAS:
                yield from _parts("quotas", of_section, _alter_quotas)
            case Section.ACLS:
                # Access is never wider than before or after: denials are added first and removed last.
                for is_new, permission in (
                    (True, AclPermissionType.DENY),
                    (True, AclPermissionType.ALLOW),
                    (False, AclPermissionType.ALLOW),
                    (False, AclPermissionType.DENY),
                ):
                    acls = [
                        difference
                        for difference in of_section
                        if (difference.action is DocumentAction.CREATE) is is_new
                        and cast("AclBinding", difference.subject).permission_type is permission
                    ]
                    yield from _parts("ACLs", acls, _create_acls if is_new else _delete_acls)
            case _:
                yield from _parts(f"configs of {section.replace('_', ' ')}", of_section, _alter_configs)


def _parts(
    what: str, differences: Sequence[DocumentDifference], send: Send, size: int = SUBJECTS_PER_STEP
) -> Iterator[Step]:
    grouped = list(by_subject(differences).items())
    for start in range(0, len(grouped), size):
        yield Step(what, dict(grouped[start : start + size]), send)


async def _alter_configs(admin: AdminClient, differences: Grouped, validate_only: bool) -> Refusals:
    changes = {
        cast("ConfigResource", resource): ConfigChange(
            set={difference.name: difference.new for difference in of_resource if difference.new is not None},
            delete=[difference.name for difference in of_resource if difference.new is None],
        )
        for resource, of_resource in differences.items()
    }
    if validate_only and admin.dialect == "kip4" and next(iter(differences.values()))[0].section is Section.TOPICS:
        return await _check_topics_of_nodes(admin, {topic: change.set for topic, change in changes.items()})
    outcomes = await admin.alter_configs(changes, validate_only=validate_only)
    return _refusals({str(change): change for change in changes}, outcomes)


async def _create_topics(admin: AdminClient, differences: Grouped, validate_only: bool) -> Refusals:
    names = {cast("ConfigResource", topic).name: topic for topic in differences}
    topics = {}
    for topic, of_topic in differences.items():
        values = {difference.name: difference.new or "" for difference in of_topic}
        sizes = {name: values.pop(name, "default") for name in (SIZE, FACTOR)}
        numbers = {name: None if value == "default" else int(value) for name, value in sizes.items()}
        topics[cast("ConfigResource", topic).name] = NewTopic(
            partitions=numbers[SIZE], replication_factor=numbers[FACTOR], configs=values
        )
    if validate_only and admin.dialect == "kip4":
        configs = {cast("ConfigResource", names[name]): topic.configs for name, topic in topics.items()}
        return await _check_topics_of_nodes(admin, configs)
    return _refusals(names, await admin.create_topics(topics, validate_only=validate_only))


async def _check_topics_of_nodes(admin: AdminClient, configs: Mapping[ConfigResource, Mapping[str, str]]) -> Refusals:
    """Let a node check configs of topics that need not exist: requests of the drafts have no check."""
    text = json.dumps({"topics": {topic.name: dict(values) for topic, values in configs.items()}})
    parts = [text[at : at + ARGUMENT_LENGTH] for at in range(0, len(text), ARGUMENT_LENGTH)]
    try:
        await tool_result(admin, "config", ["diff", *parts], "topics", reads=True)
    except AdminError as error:
        if len(configs) == 1:
            return dict.fromkeys(configs, error)
        refused: Refusals = {}
        for topic, values in configs.items():
            refused |= await _check_topics_of_nodes(admin, {topic: values})
        return refused
    return {}


async def _add_partitions(admin: AdminClient, differences: Grouped, validate_only: bool) -> Refusals:
    if validate_only and admin.dialect == "kip4":
        return {}  # the drafts have no check; `compare` has checked the only rule
    names = {cast("ConfigResource", topic).name: topic for topic in differences}
    changes = {
        cast("ConfigResource", topic).name: TopicChange(partitions=int(of_topic[0].new or 0))
        for topic, of_topic in differences.items()
    }
    return _refusals(names, await admin.alter_topics(changes, validate_only=validate_only))


async def _alter_quotas(admin: AdminClient, differences: Grouped, validate_only: bool) -> Refusals:
    changes = {
        cast("ClientQuotaEntity", entity): {
            value.name: None if value.new is None else float(value.new) for value in values
        }
        for entity, values in differences.items()
    }
    outcomes = await admin.alter_client_quotas(changes, validate_only=validate_only)
    return _refusals({str(change): change for change in changes}, outcomes)


async def _create_acls(admin: AdminClient, differences: Grouped, validate_only: bool) -> Refusals:
    acls = [cast("AclBinding", difference) for difference in differences]
    outcomes = await admin.create_acls(acls, validate_only=validate_only)
    return _refusals({str(acl): acl for acl in acls}, outcomes)


async def _delete_acls(admin: AdminClient, differences: Grouped, validate_only: bool) -> Refusals:
    acls = [cast("AclBinding", difference) for difference in differences]
    results = await admin.delete_acls((acl.exact_filter() for acl in acls), validate_only=validate_only)
    errors = (
        (acl, result if isinstance(result, AdminError) else result.get(acl))
        for acl, result in zip(acls, results.values(), strict=True)
    )
    return {acl: error for acl, error in errors if error is not None}


def _refusals(subjects: Mapping[str, Subject], outcomes: Mapping[str, AdminError | None]) -> Refusals:
    return {subjects[item]: error for item, error in outcomes.items() if error is not None}


async def refusals(admin: AdminClient, differences: Sequence[DocumentDifference]) -> dict[DocumentDifference, str]:
    """Return the differences that the cluster refuses, with its reasons."""
    refused = await _refused_broker_configs(admin, differences)
    for step in steps([difference for difference in differences if difference not in refused]):
        for subject, error in (await step.check(admin)).items():
            of_subject = step.differences[subject]
            problems = await _one_by_one(admin, step, of_subject)
            refused |= problems or dict.fromkeys(of_subject, error.reason)
    return refused


async def _one_by_one(
    admin: AdminClient, step: Step, differences: Sequence[DocumentDifference]
) -> dict[DocumentDifference, str]:
    """Return which differences of a refused resource are refused, each with the size of a topic that is created."""
    size = [difference for difference in differences if difference.name in (SIZE, FACTOR)]
    subject = differences[0].subject
    if size and (errors := await step.check(admin, {subject: size})):
        return dict.fromkeys(differences, errors[subject].reason)
    refused = {}
    for difference in differences:
        if difference not in size and (errors := await step.check(admin, {subject: [*size, difference]})):
            refused[difference] = errors[subject].reason
    return refused


async def _refused_broker_configs(
    admin: AdminClient, differences: Sequence[DocumentDifference]
) -> dict[DocumentDifference, str]:
    """Return the configs of Kafka's brokers that are unknown, secret, or of a broker that is down."""
    of_brokers = [
        difference
        for difference in differences
        if difference.section is Section.BROKERS and difference.action.is_applied
    ]
    if admin.dialect == "kip4" or not of_brokers:
        return {}
    live = {broker.id for broker in (await admin.describe_cluster()).brokers}
    refused: dict[DocumentDifference, str] = {}
    for subject, changes in by_subject(of_brokers).items():
        resource = cast("ConfigResource", subject)
        if resource.broker_id is not None and resource.broker_id not in live:
            refused |= dict.fromkeys(changes, "no live broker has this id")
            continue
        plan = await admin.plan_config_change(resource, ConfigChange())
        if plan.error is not None:
            raise plan.error
        for change in changes:
            reason = unknown_config(change.name, plan)
            if (
                reason is None
                and change.new is not None
                and change.name in plan.present
                and plan.present[change.name].is_sensitive
            ):
                reason = "a secret, which has no place in a file: set it with `kafka configs set --from-file`"
            if reason is not None:
                refused[change] = reason
    return refused
