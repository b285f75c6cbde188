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

from itertools import zip_longest

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin import completion
from kwire.client.admin.acl_values import (
    CLUSTER_NAME,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from kwire.client.admin.answer import error_code, first_error_code, lacking
from kwire.client.admin.change_checks import check_change, check_outcomes
from kwire.client.admin.errors import AdminError, NotSupported
from kwire.client.admin.targets import ANY, BrokerTarget
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.create_acls import AclCreation, CreateAclsRequest
from kwire.messages.kafka.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kwire.messages.kafka.describe_acls import DescribeAclsRequest
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.session import AclDeletions, AdminSession
    from kwire.client.admin.targets import Target

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
    return await _describe(admin, filter or AclBindingFilter(), ANY)


async def _describe(admin: AdminSession, filter: AclBindingFilter, target: Target) -> list[AclBinding]:
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_security

        return await kip4_security.describe_acls(admin, filter)
    request = DescribeAclsRequest(**_filter_fields(filter))
    answer = await admin.router.read(request, target, error_code, adapt=_with_literal_filter)
    response = answer.accepted("ACLs")
    return sorted(_binding(resource, entry) for resource in response.resources for entry in resource.acls)


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
    if validate_only:
        return await _check_creations(admin, requested)
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_security

        return await kip4_security.create_acls(admin, requested)
    request = CreateAclsRequest(
        creations=tuple(
            AclCreation(
                resource_type=acl.resource_type.code,
                resource_name=acl.resource_name,
                resource_pattern_type=acl.pattern_type.code,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation.code,
                permission_type=acl.permission_type.code,
            )
            for acl in requested
        )
    )
    answer = await admin.router.command(
        request, error_code=first_error_code("results"), repeatable=True, adapt=_with_literal_names
    )
    return answer.outcomes(zip(map(str, requested), answer.response.results, strict=False), map(str, requested))


async def _check_creations(admin: AdminSession, acls: Sequence[AclBinding]) -> Outcomes:
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
    if validate_only and admin.dialect == "kafka":  # see `_check_creations`
        await admin.router.check_command(DeleteAclsRequest)
    filters = tuple(dict.fromkeys(filters))
    try:
        if admin.dialect == "kip4":
            from kwire.client.admin import kip4_security

            return await kip4_security.delete_acls(admin, filters, validate_only=validate_only)
        if not validate_only:
            return await _delete(admin, filters)
        # One request also for many filters: a change of ACLs names each of them.
        matching = await describe_acls(admin, filters[0] if len(filters) == 1 else None)
        if filters:
            await check_change(admin, DeleteAclsRequest)
    except AdminError as error:
        if not validate_only or error.code not in OF_EACH_ITEM:
            raise
        return {
            filter: AdminError.of_kafka(error.code, str(filter), error.text, needs=error.needs) for filter in filters
        }
    return {filter: dict.fromkeys(acl for acl in matching if filter.matches(acl)) for filter in filters}


async def _delete(admin: AdminSession, filters: Sequence[AclBindingFilter]) -> AclDeletions:
    """Delete ACLs with one command, which is never repeated: the second response would lack them."""
    request = DeleteAclsRequest(filters=tuple(DeleteAclsFilter(**_filter_fields(filter)) for filter in filters))
    answer = await admin.router.command(
        request, error_code=first_error_code("filter_results"), adapt=_with_literal_filters
    )
    deleted: AclDeletions = {}
    for filter, result in zip_longest(filters, answer.response.filter_results[: len(filters)]):
        error = lacking(str(filter)) if result is None else answer.error(result, str(filter))
        if error is not None:
            deleted[filter] = error
            continue
        matches = {_binding(match, match): match for match in result.matching_acls}
        deleted[filter] = {acl: answer.error(match, str(acl)) for acl, match in sorted(matches.items())}
    return deleted


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
        reported = await _reported(admin, broker_id)
        lacking = [f"lacks {acl}" for acl in sorted(present - reported)]
        return [*lacking, *(f"still has {acl}" for acl in sorted(absent & reported))]

    await completion.wait_for_brokers(admin.router, "changed", len(present) + len(absent), unmet, timeout, on_progress)


async def _reported(admin: AdminSession, broker_id: int) -> frozenset[AclBinding]:
    """Return the ACLs that one broker applies."""
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_security

        return await kip4_security.reported_acls(admin, broker_id)
    return frozenset(await _describe(admin, AclBindingFilter(), BrokerTarget(broker_id)))


# In version 0 (Kafka before 2.0), every ACL is literal: a filter for literal ones finds what one for any pattern does.


def _with_literal_filter(request: DescribeAclsRequest, version: int) -> DescribeAclsRequest:
    if version > 0:
        return request
    from dataclasses import replace

    return replace(request, pattern_type_filter=_literal(request.pattern_type_filter))


def _with_literal_filters(request: DeleteAclsRequest, version: int) -> DeleteAclsRequest:
    if version > 0:
        return request
    from dataclasses import replace

    filters = [replace(filter, pattern_type_filter=_literal(filter.pattern_type_filter)) for filter in request.filters]
    return replace(request, filters=tuple(filters))


def _with_literal_names(request: CreateAclsRequest, version: int) -> CreateAclsRequest:
    for creation in request.creations if version == 0 else ():
        _literal(creation.resource_pattern_type)
    return request


def _literal(code: int) -> int:
    """Return the code of literal names, if a pattern type means them in version 0.

    Raises:
        NotSupported: it means other names.
    """
    if code in (PatternType.ANY.code, PatternType.LITERAL.code):
        return PatternType.LITERAL.code
    pattern = PatternType.of_code(code)
    raise NotSupported(f"an ACL with the pattern {pattern}", "brokers before Kafka 2.0 have literal names only")


def _filter_fields(filter: AclBindingFilter) -> dict[str, Any]:
    """Return the fields that DescribeAcls and DeleteAcls have in common."""
    return {
        "resource_type_filter": filter.resource_type.code,
        "resource_name_filter": filter.resource_name,
        "pattern_type_filter": filter.pattern_type.code,
        "principal_filter": filter.principal,
        "host_filter": filter.host,
        "operation": filter.operation.code,
        "permission_type": filter.permission_type.code,
    }


def _binding(resource: Any, entry: Any) -> AclBinding:
    """Return the ACL for the structs of a response with its resource and with its entry."""
    return AclBinding(
        resource_type=ResourceType.of_code(resource.resource_type),
        resource_name=resource.resource_name,
        pattern_type=PatternType.of_code(resource.pattern_type),
        principal=entry.principal,
        host=entry.host,
        operation=AclOperation.of_code(entry.operation),
        permission_type=AclPermissionType.of_code(entry.permission_type),
    )
