"""ACLs: describe, create, and delete them (KIP-140)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire.client.admin import completion
from kwire.client.admin.answer import error_code, first_error_code
from kwire.client.admin.cluster_router import ANY, Broker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin.acl_values import AclBinding, AclBindingFilter
    from kwire.client.admin.backend import Backend
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.errors import AdminError
    from kwire.client.admin.values import Outcomes
    from kwire.protocol.negotiated_versions import Dialect


class AclOperations:
    """Operations on ACLs."""

    dialect: Dialect
    _router: ClusterRouter
    _backend: Backend

    async def describe_acls(self, filter: AclBindingFilter | None = None) -> list[AclBinding]:
        """Return the ACLs that match a filter, in order, as one broker reports them.

        In a cluster of nodes, they are what ZooKeeper has, whether the nodes have an authorizer or not.

        Args:
            filter: which ACLs; None for all.

        Raises:
            AdminError: 31 not authorized; 42 the filter is invalid; 54 the cluster has no authorizer; 21, in a cluster
                of nodes, a resource that the filter concerns has entries that cannot be read.
        """
        if self.dialect == "kip4":
            from kwire.client.admin import kip4_acls
            from kwire.client.admin.acl_values import AclBindingFilter

            return await kip4_acls.describe(self._backend, filter or AclBindingFilter())
        return await self._describe_acls(filter, ANY)

    async def _describe_acls(self, filter: AclBindingFilter | None, target: Target) -> list[AclBinding]:
        from kwire.client.admin.acl_values import AclBindingFilter
        from kwire.messages.kafka.describe_acls import DescribeAclsRequest

        request = DescribeAclsRequest(**_filter_fields(filter or AclBindingFilter()))
        response = (await self._router.read(request, target, error_code)).accepted("ACLs")
        return sorted(_binding(resource, each) for resource in response.resources for each in resource.acls)

    async def _reported_acls(self, broker_id: int) -> frozenset[AclBinding]:
        if self.dialect == "kip4":
            from kwire.client.admin import kip4_acls

            return await kip4_acls.reported(self._backend, broker_id)
        return frozenset(await self._describe_acls(None, Broker(broker_id)))

    async def create_acls(self, acls: Iterable[AclBinding]) -> Outcomes:
        """Create ACLs. An ACL that exists already is a success.

        The command is repeated after a lost response on Kafka. In a cluster of nodes, each ACL is a command of its own,
        which is never repeated.

        The outcomes are by `str` of the ACL. Errors of an ACL: 31 not authorized; 42 it is invalid; 54 the cluster has
        no authorizer; 21, in a cluster of nodes, it is invalid or cannot be stored.
        """
        from kwire.messages.kafka.create_acls import AclCreation, CreateAclsRequest

        wanted = tuple(dict.fromkeys(acls))
        if self.dialect == "kip4":
            from kwire.client.admin import kip4_acls

            return await kip4_acls.create(self._backend, wanted)
        request = CreateAclsRequest(
            creations=tuple(
                AclCreation(
                    resource_type=each.resource_type.code,
                    resource_name=each.resource_name,
                    resource_pattern_type=each.pattern_type.code,
                    principal=each.principal,
                    host=each.host,
                    operation=each.operation.code,
                    permission_type=each.permission_type.code,
                )
                for each in wanted
            )
        )
        answer = await self._router.command(request, error_code=first_error_code("results"), repeatable=True)
        return answer.outcomes(zip(map(str, wanted), answer.response.results, strict=True))

    async def delete_acls(
        self, filters: Iterable[AclBindingFilter]
    ) -> dict[AclBindingFilter, dict[AclBinding, AdminError | None] | AdminError]:
        """Delete every ACL that matches one of the filters. The command is never repeated after a lost response.

        The result of a filter has the ACLs that matched, with None for those that were deleted, or the error of the
        filter: 31 not authorized; 42 it is invalid; 54 the cluster has no authorizer; 21, in a cluster of nodes, a
        resource that it concerns has entries that cannot be read. A filter that matches nothing is a success.

        Raises:
            OutcomeUnknown: the response was lost.
        """
        from kwire.messages.kafka.delete_acls import DeleteAclsFilter, DeleteAclsRequest

        wanted = tuple(dict.fromkeys(filters))
        if self.dialect == "kip4":
            from kwire.client.admin import kip4_acls

            return await kip4_acls.delete(self._backend, wanted)
        request = DeleteAclsRequest(filters=tuple(DeleteAclsFilter(**_filter_fields(each)) for each in wanted))
        answer = await self._router.command(request, error_code=first_error_code("filter_results"))
        deleted: dict[AclBindingFilter, dict[AclBinding, AdminError | None] | AdminError] = {}
        for filter, result in zip(wanted, answer.response.filter_results, strict=True):
            error = answer.error(result, str(filter))
            if error is not None:
                deleted[filter] = error
                continue
            acls = {_binding(each, each): each for each in result.matching_acls}
            deleted[filter] = {acl: answer.error(each, str(acl)) for acl, each in sorted(acls.items())}
        return deleted

    async def wait_until_acls(
        self,
        *,
        created: Iterable[AclBinding] = (),
        deleted: Iterable[AclBinding] = (),
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until every broker reports ACLs that were created, and none reports those that were deleted.

        A node reports what its authorizer has taken over.

        Args:
            timeout: seconds to wait.
            on_progress: called after each round of requests.

        Raises:
            ChangeTimeout: a broker does not report the change in time.
        """
        present, absent = frozenset(created), frozenset(deleted)

        async def unmet(broker_id: int) -> Sequence[str]:
            reported = await self._reported_acls(broker_id)
            lacking = [f"lacks {acl}" for acl in sorted(present - reported)]
            return [*lacking, *(f"still has {acl}" for acl in sorted(absent & reported))]

        await completion.wait_for_brokers(
            self._router, "changed", len(present) + len(absent), unmet, timeout, on_progress
        )


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
    from kwire.client.admin.acl_values import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType

    return AclBinding(
        resource_type=ResourceType.of_code(resource.resource_type),
        resource_name=resource.resource_name,
        pattern_type=PatternType.of_code(resource.pattern_type),
        principal=entry.principal,
        host=entry.host,
        operation=AclOperation.of_code(entry.operation),
        permission_type=AclPermissionType.of_code(entry.permission_type),
    )
