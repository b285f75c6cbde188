"""ACLs: describe, create, and delete them (KIP-140).

Examples:
    >>> from kwire.client.admin import AclBinding, AclBindingFilter, AclOperation, ResourceType
    >>> topic = {"resource_type": ResourceType.TOPIC, "resource_name": "orders"}
    >>> acl = AclBinding(**topic, principal="User:carol", operation=AclOperation.READ)
    >>> admin.create_acls([acl]).raise_first()
    >>> admin.wait_until_acls(created=[acl])
    >>> of_carol = AclBindingFilter(principal="User:carol")
    >>> [str(acl) for acl in admin.describe_acls(of_carol)]
    ['ALLOW READ on LITERAL TOPIC orders for User:carol from *']
    >>> [str(acl) for acl in admin.delete_acls([of_carol])[of_carol]]
    ['ALLOW READ on LITERAL TOPIC orders for User:carol from *']
    >>> admin.wait_until_acls(deleted=[acl])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import completion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin.acl_values import AclBinding, AclBindingFilter
    from kwire.client.admin.backend import AclDeletions, AdminSession
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.values import Outcomes


async def describe_acls(admin: AdminSession, filter: AclBindingFilter | None = None) -> list[AclBinding]:
    """Return the ACLs that match a filter, in order, as one broker reports them.

    In a cluster of nodes, they are what ZooKeeper has, whether the nodes have an authorizer or not.

    Args:
        filter: the ACLs to return; None for all.

    Raises:
        AdminError: 31 not authorized; 42 the filter is invalid; 54 the cluster has no authorizer; 21, in a cluster
            of nodes, a resource that the filter concerns has entries that cannot be read.
    """
    from kwire.client.admin.acl_values import AclBindingFilter

    return await admin.backend.acls.describe(filter or AclBindingFilter())


async def create_acls(admin: AdminSession, acls: Iterable[AclBinding]) -> Outcomes:
    """Create ACLs. An ACL that exists already is a success.

    The command is repeated after a lost response on Kafka. In a cluster of nodes, each ACL is a command of its own,
    which is never repeated.

    The outcomes are by `str` of the ACL. Errors of an ACL: 31 not authorized; 42 it is invalid; 54 the cluster has
    no authorizer; 21, in a cluster of nodes, it is invalid or cannot be stored.
    """
    return await admin.backend.acls.create(tuple(dict.fromkeys(acls)))


async def delete_acls(admin: AdminSession, filters: Iterable[AclBindingFilter]) -> AclDeletions:
    """Delete every ACL that matches one of the filters. The command is never repeated after a lost response.

    The result of a filter has the ACLs that matched, with None for each deleted ACL, or the error of the
    filter: 31 not authorized; 42 it is invalid; 54 the cluster has no authorizer; 21, in a cluster of nodes, a
    resource that it concerns has entries that cannot be read. A filter that matches nothing is a success.

    Raises:
        OutcomeUnknown: the response was lost.
    """
    return await admin.backend.acls.delete(tuple(dict.fromkeys(filters)))


async def wait_until_acls(
    admin: AdminSession,
    *,
    created: Iterable[AclBinding] = (),
    deleted: Iterable[AclBinding] = (),
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports the created ACLs, and none reports the deleted ones.

    A node reports what its authorizer has taken over.

    Args:
        timeout: seconds to wait.
        on_progress: called after each round of requests.

    Raises:
        ChangeTimeout: a broker does not report the change in time.
    """
    present, absent = frozenset(created), frozenset(deleted)

    async def unmet(broker_id: int) -> Sequence[str]:
        reported = await admin.backend.acls.reported(broker_id)
        lacking = [f"lacks {acl}" for acl in sorted(present - reported)]
        return [*lacking, *(f"still has {acl}" for acl in sorted(absent & reported))]

    await completion.wait_for_brokers(admin.router, "changed", len(present) + len(absent), unmet, timeout, on_progress)
