"""Kafka's requests for ACLs (KIP-140)."""

from __future__ import annotations

from itertools import zip_longest

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.acl_values import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from kwire.client.admin.answer import error_code, first_error_code, lacking
from kwire.client.admin.cluster_router import ANY, BrokerTarget
from kwire.client.admin.errors import NotSupported

if TYPE_CHECKING:
    from kwire.client.admin.backend import AclDeletions
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.values import Outcomes
    from kwire.messages.kafka.create_acls import CreateAclsRequest
    from kwire.messages.kafka.delete_acls import DeleteAclsRequest
    from kwire.messages.kafka.describe_acls import DescribeAclsRequest

__all__ = ["KafkaAcls"]


class KafkaAcls:
    """ACLs in a cluster of Apache Kafka."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(self, filter: AclBindingFilter) -> list[AclBinding]:
        return await self._describe(filter, ANY)

    async def reported(self, broker_id: int) -> frozenset[AclBinding]:
        return frozenset(await self._describe(AclBindingFilter(), BrokerTarget(broker_id)))

    async def _describe(self, filter: AclBindingFilter, target: Target) -> list[AclBinding]:
        from kwire.messages.kafka.describe_acls import DescribeAclsRequest

        request = DescribeAclsRequest(**_filter_fields(filter))
        answer = await self._router.read(request, target, error_code, adapt=_with_literal_filter)
        response = answer.accepted("ACLs")
        return sorted(_binding(resource, entry) for resource in response.resources for entry in resource.acls)

    async def create(self, acls: tuple[AclBinding, ...]) -> Outcomes:
        """Create ACLs with one command, which is repeated: it has the same effect again."""
        from kwire.messages.kafka.create_acls import AclCreation, CreateAclsRequest

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
                for acl in acls
            )
        )
        answer = await self._router.command(
            request, error_code=first_error_code("results"), repeatable=True, adapt=_with_literal_names
        )
        return answer.outcomes(zip(map(str, acls), answer.response.results, strict=False), map(str, acls))

    async def delete(self, filters: tuple[AclBindingFilter, ...], *, validate_only: bool) -> AclDeletions:
        """Delete ACLs with one command, which is never repeated: the second response would lack them."""
        if validate_only:  # one request also for many filters: a change of ACLs names each of them
            acls = await self.describe(filters[0] if len(filters) == 1 else AclBindingFilter())
            return {filter: dict.fromkeys(acl for acl in acls if filter.matches(acl)) for filter in filters}
        from kwire.messages.kafka.delete_acls import DeleteAclsFilter, DeleteAclsRequest

        request = DeleteAclsRequest(filters=tuple(DeleteAclsFilter(**_filter_fields(filter)) for filter in filters))
        answer = await self._router.command(
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
