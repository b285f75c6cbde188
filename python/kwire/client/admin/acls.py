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

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import completion
from kwire.client.admin.change_checks import check_change, check_outcomes
from kwire.client.admin.errors import AdminError
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin.acl_values import AclBinding, AclBindingFilter
    from kwire.client.admin.backend import AclDeletions, AdminSession
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.values import Outcomes

OF_EACH_ITEM = (ErrorCode.SECURITY_DISABLED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
"""Codes with which a change refuses each item, and a description the whole request."""


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


async def create_acls(admin: AdminSession, acls: Iterable[AclBinding], *, validate_only: bool = False) -> Outcomes:
    """Create ACLs. An ACL that exists already is a success.

    The command is repeated after a lost response on Kafka. In a cluster of nodes, each ACL is a command of its own,
    which is never repeated.

    The outcomes are by `str` of the ACL. Errors of an ACL: 31 not authorized; 42 it is invalid; 54 the cluster has
    no authorizer; 21, in a cluster of nodes, it is invalid or cannot be stored.

    Args:
        acls: the ACLs.
        validate_only: check the ACLs, and create nothing. `unchanged` then has the ACLs that exist. Clusters cannot do
            so, so the client does.

    Raises:
        AdminError: only with `validate_only`, the existing ACLs cannot be described.
    """
    requested = tuple(dict.fromkeys(acls))
    return await (_check_creations(admin, requested) if validate_only else admin.backend.acls.create(requested))


async def _check_creations(admin: AdminSession, acls: Sequence[AclBinding]) -> Outcomes:
    from kwire.client.admin.values import Outcomes
    from kwire.messages.kafka.create_acls import CreateAclsRequest

    if admin.dialect == "kafka":  # first, as the change itself fails with this error
        await admin.router.check_command(CreateAclsRequest)
    try:
        existing = frozenset(await describe_acls(admin))
    except AdminError as error:
        if error.code not in OF_EACH_ITEM:
            raise
        return Outcomes(
            {str(acl): AdminError.of_kafka(error.code, str(acl), error.text, needs=error.needs) for acl in acls}
        )
    unchanged = [str(acl) for acl in acls if acl in existing]
    outcomes = Outcomes({str(acl): _problem(acl) for acl in acls}, unchanged=unchanged)
    return await check_outcomes(admin, CreateAclsRequest, outcomes)


def _problem(acl: AclBinding) -> AdminError | None:
    """Return why brokers refuse an ACL, by the rules of AclApis and AclControlManager in Kafka."""
    from kwire.client.admin.acl_values import CLUSTER_NAME, ResourceType

    unusable = [
        f"{value} is for filters only"
        for value in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type)
        if value in ("ANY", "MATCH", "UNKNOWN")
    ]
    if unusable:
        reason = unusable[0]
    elif not acl.resource_name:
        reason = "the name of the resource is empty"
    elif acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        reason = f"the only name of the cluster is {CLUSTER_NAME}"
    elif ":" not in acl.principal:
        reason = f"{acl.principal!r} is not a principal: write TYPE:NAME, such as User:alice"
    else:
        return None
    return AdminError.of_kafka(ErrorCode.INVALID_REQUEST, str(acl), reason)


async def delete_acls(
    admin: AdminSession, filters: Iterable[AclBindingFilter], *, validate_only: bool = False
) -> AclDeletions:
    """Delete every ACL that matches one of the filters. The command is never repeated after a lost response.

    The result of a filter has the ACLs that matched, with None for each deleted ACL, or the error of the
    filter: 31 not authorized; 42 it is invalid; 54 the cluster has no authorizer; 21, in a cluster of nodes, a
    resource that it concerns has entries that cannot be read. A filter that matches nothing is a success.

    Args:
        filters: the filters.
        validate_only: find the ACLs, and delete nothing.

    Raises:
        AdminError: only with `validate_only`, the ACLs cannot be described.
        OutcomeUnknown: the response was lost.
    """
    from kwire.messages.kafka.delete_acls import DeleteAclsRequest

    if validate_only and admin.dialect == "kafka":  # see `_check_creations`
        await admin.router.check_command(DeleteAclsRequest)
    filters = tuple(dict.fromkeys(filters))
    try:
        results = await admin.backend.acls.delete(filters, validate_only=validate_only)
        if validate_only and results:
            await check_change(admin, DeleteAclsRequest)
    except AdminError as error:
        if not validate_only or error.code not in OF_EACH_ITEM:
            raise
        return {
            filter: AdminError.of_kafka(error.code, str(filter), error.text, needs=error.needs) for filter in filters
        }
    return results


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
