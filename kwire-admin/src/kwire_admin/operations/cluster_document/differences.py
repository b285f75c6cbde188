"""Differences between a cluster and a document, in the order in which they are applied. No I/O.

| what differs | action |
|---|---|
| a topic, config, quota, or ACL of the document that the cluster lacks | create |
| a config or quota with another value, more partitions | change |
| a config or quota that a resource or entity of the document does not have there | delete |
| a resource, entity, or ACL that the document does not name | keep; delete with `prune` |
| a topic or user that the document does not name | keep |
| fewer partitions, another replication factor, a secret or a credential that is missing | manual |

ACLs that deny come before ACLs that allow, and permissions are taken away last, allowing ones first. So at no moment
may a user do what both states deny, and no user loses in between what both allow.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, TypeAlias
from kwire.client.admin import (
    AclBinding,
    AclPermissionType,
    ClientQuotaEntity,
    ConfigResource,
    ConfigResourceType,
    PatternType,
)
from kwire_admin.operations.cluster_document.state import CONFIG_SECTIONS, DocumentState, Section
from kwire_admin.operations.config_journal import HIDDEN
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.resources import name_resource

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

Subject: TypeAlias = ConfigResource | ClientQuotaEntity | AclBinding | str
"""The owner of a setting: a resource, the entity of a quota, an ACL, or the name of a user."""

SIZE = "partitions"
FACTOR = "replication_factor"
"""Names of the settings of a topic that are not configs."""


class DocumentAction(Enum):
    """The treatment of a difference by `apply`."""

    CREATE = "created"
    CHANGE = "changed"
    DELETE = "deleted"
    KEEP = "kept"
    MANUAL = "manual"

    @property
    def is_applied(self) -> bool:
        """True if `apply` carries it out."""
        return self not in (DocumentAction.KEEP, DocumentAction.MANUAL)


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """One setting that differs.

    Attributes:
        section: its section in the document.
        subject: the owner of the setting.
        name: the name of the setting.
        old: the value in the cluster; None if it has none.
        new: the value in the document; None if it has none.
        action: the treatment.
        reason: the reason if nothing is done, with the command for a person.
    """

    section: Section
    subject: Subject
    name: str
    old: str | None
    new: str | None
    action: DocumentAction
    reason: str = ""

    @property
    def key(self) -> tuple[Subject, str]:
        """The identity of the setting."""
        return self.subject, self.name

    @property
    def resource(self) -> str:
        """The subject for people, such as `topic/orders` or `acl/topic:orders`."""
        match self.subject:
            case ConfigResource():
                return name_resource(self.subject)
            case ClientQuotaEntity():
                return f"quota/{self.subject}"
            case AclBinding():
                acl = self.subject
                prefix = "" if acl.pattern_type is PatternType.LITERAL else f"{acl.pattern_type.lower()} "
                return f"acl/{prefix}{acl.resource_type.lower().replace('_', '-')}:{acl.resource_name}"
        return f"user/{self.subject}"

    def __str__(self) -> str:
        return f"{self.resource} {self.name}"


def compare(current: DocumentState, document: DocumentState, *, prune: bool = False) -> list[DocumentDifference]:
    """Return what differs in the sections that both states have.

    Args:
        current: the state of the cluster.
        document: the state that it should have.
        prune: delete what the document does not name, except topics and users.

    Raises:
        InvalidArgument: the document has a value for a secret of the cluster.
    """
    surplus = (DocumentAction.DELETE, "") if prune else (DocumentAction.KEEP, "not in the document: --prune deletes it")
    differences: list[DocumentDifference] = []
    for section in Section:
        if section not in current.sections or section not in document.sections:
            continue
        match section:
            case Section.QUOTAS:
                differences += _quotas(current, document, *surplus)
            case Section.USERS:
                differences += _users(current, document)
            case Section.ACLS:
                differences += _acls(current, document, *surplus)
            case Section.TOPICS:
                differences += _topics(current, document)
            case _:
                differences += _resources(section, current, document, *surplus)
    return differences


def changed_since(
    base: DocumentState, current: DocumentState, planned: Iterable[DocumentDifference]
) -> list[DocumentDifference]:
    """Return the planned differences of settings that have another value than in an earlier state.

    What the earlier state does not describe counts as absent then: a topic that it lacks was created since, and in a
    section that it lacks, nothing that exists is known to be as before. A setting that has the value of the document
    already is not planned. So the rest of an interrupted run does not conflict.
    """
    changed = {difference.key for difference in compare(current, base, prune=True)}
    created = {ConfigResource(ConfigResourceType.TOPIC, name) for name in current.topics.keys() - base.topics.keys()}
    return [
        difference
        for difference in planned
        if difference.action.is_applied
        and (
            difference.key in changed
            or difference.subject in created
            or (difference.section not in base.sections and difference.old is not None)
        )
    ]


def _resources(
    section: Section, current: DocumentState, document: DocumentState, surplus: DocumentAction, reason: str
) -> Iterator[DocumentDifference]:
    type = CONFIG_SECTIONS[section]
    for resource in sorted({*current.configs, *document.configs}):
        if resource.type is not type:
            continue
        stored = current.configs.get(resource, {})
        if resource in document.configs:
            yield from _configs(section, resource, stored, document.configs[resource])
        else:
            for name, value in stored.items():
                yield DocumentDifference(section, resource, name, _shown(value), None, surplus, reason)


def _configs(
    section: Section, resource: ConfigResource, stored: Mapping[str, str | None], stated: Mapping[str, str | None]
) -> Iterator[DocumentDifference]:
    for name in sorted({*stored, *stated}):
        old = _shown(stored[name]) if name in stored else None
        if name not in stated:
            yield DocumentDifference(section, resource, name, old, None, DocumentAction.DELETE)
            continue
        new = stated[name]
        if new is None:
            if name not in stored:
                how = f"a secret: `kafka configs set {name_resource(resource)} --from-file FILE` with {name}=..."
                yield DocumentDifference(section, resource, name, None, HIDDEN, DocumentAction.MANUAL, how)
        elif name in stored and stored[name] is None:
            raise InvalidArgument(
                f"{name_resource(resource)}: {name} is a secret of the cluster, which has no place in a file: write "
                f"{HIDDEN!r}, and set it with `kafka configs set --from-file`"
            )
        elif name not in stored:
            yield DocumentDifference(section, resource, name, None, new, DocumentAction.CREATE)
        elif stored[name] != new:
            yield DocumentDifference(section, resource, name, old, new, DocumentAction.CHANGE)


def _shown(value: str | None) -> str:
    return HIDDEN if value is None else value


def _topics(current: DocumentState, document: DocumentState) -> Iterator[DocumentDifference]:
    for name in sorted({*current.topics, *document.topics}):
        topic = ConfigResource(ConfigResourceType.TOPIC, name)
        existing, stated = current.topics.get(name), document.topics.get(name)
        if stated is None:
            size = str(current.topics[name].partitions)
            reason = f"not in the document: `kafka topics delete {name}`"
            yield DocumentDifference(Section.TOPICS, topic, SIZE, size, None, DocumentAction.KEEP, reason)
            continue
        if existing is None:
            yield DocumentDifference(
                Section.TOPICS, topic, SIZE, None, _number(stated.partitions), DocumentAction.CREATE
            )
            factor = _number(stated.replication_factor)
            yield DocumentDifference(Section.TOPICS, topic, FACTOR, None, factor, DocumentAction.CREATE)
        else:
            yield from _sizes(topic, existing.partitions or 0, stated.partitions)
            if stated.replication_factor not in (None, existing.replication_factor):
                new = str(stated.replication_factor)
                reason = f"moves replicas: `kafka topics alter {name} --replication-factor {new}`"
                old = str(existing.replication_factor)
                yield DocumentDifference(Section.TOPICS, topic, FACTOR, old, new, DocumentAction.MANUAL, reason)
        yield from _configs(Section.TOPICS, topic, current.configs.get(topic, {}), document.configs.get(topic, {}))


def _sizes(topic: ConfigResource, existing: int, stated: int | None) -> Iterator[DocumentDifference]:
    if stated is None or stated == existing:
        return
    difference = DocumentDifference(Section.TOPICS, topic, SIZE, str(existing), str(stated), DocumentAction.CHANGE)
    if stated < existing:
        yield replace(difference, action=DocumentAction.MANUAL, reason="a topic cannot lose partitions")
    else:
        yield difference


def _number(value: int | None) -> str:
    return "default" if value is None else str(value)


def _quotas(
    current: DocumentState, document: DocumentState, surplus: DocumentAction, reason: str
) -> Iterator[DocumentDifference]:
    for entity in sorted({*current.quotas, *document.quotas}, key=str):
        existing = current.quotas.get(entity, {})
        stated = document.quotas.get(entity)
        for key in sorted({*existing, *(stated or {})}):
            old, new = (
                None if values is None or key not in values else f"{values[key]:.17g}" for values in (existing, stated)
            )
            if old == new:
                continue
            if stated is None:
                yield DocumentDifference(Section.QUOTAS, entity, key, old, None, surplus, reason)
            else:
                yield DocumentDifference(Section.QUOTAS, entity, key, old, new, _action(old, new))


def _action(old: str | None, new: str | None) -> DocumentAction:
    if old is None:
        return DocumentAction.CREATE
    return DocumentAction.DELETE if new is None else DocumentAction.CHANGE


def _users(current: DocumentState, document: DocumentState) -> Iterator[DocumentDifference]:
    for user in sorted({*current.users, *document.users}):
        existing, stated = current.users.get(user, frozenset()), document.users.get(user, frozenset())
        for mechanism in sorted(existing ^ stated):
            if mechanism in stated:
                reason = f"needs a password: `kafka users set {user} --mechanism {mechanism}`"
                yield DocumentDifference(Section.USERS, user, mechanism, None, HIDDEN, DocumentAction.MANUAL, reason)
            else:
                reason = f"not in the document: `kafka users delete {user}`"
                yield DocumentDifference(Section.USERS, user, mechanism, HIDDEN, None, DocumentAction.KEEP, reason)


def _acls(
    current: DocumentState, document: DocumentState, surplus: DocumentAction, reason: str
) -> Iterator[DocumentDifference]:
    def difference(acl: AclBinding, *, is_new: bool) -> DocumentDifference:
        name = f"{acl.principal} {acl.operation} from {acl.host}"
        old, new = (None, str(acl.permission_type)) if is_new else (str(acl.permission_type), None)
        action, why = (DocumentAction.CREATE, "") if is_new else (surplus, reason)
        return DocumentDifference(Section.ACLS, acl, name, old, new, action, why)

    yield from (difference(acl, is_new=True) for acl in _ordered(document.acls - current.acls, AclPermissionType.DENY))
    yield from (
        difference(acl, is_new=False) for acl in _ordered(current.acls - document.acls, AclPermissionType.ALLOW)
    )


def _ordered(acls: Collection[AclBinding], first: AclPermissionType) -> list[AclBinding]:
    return sorted(acls, key=lambda acl: (acl.permission_type is not first, acl))
