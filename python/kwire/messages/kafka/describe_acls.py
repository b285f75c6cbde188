"""DescribeAcls (key 29): the ACLs that match a filter, grouped by resource (KIP-140, Kafka 0.11).

CreateAcls lists the numbers of resource types, operations, and permissions. In a filter, 1 matches any.

Versions:
    1  prefixed resource patterns (KIP-290, Kafka 2.0); throttled responses are sent at once (KIP-219)
    2  flexible
    3  users as resources (KIP-373)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DescribeAclsRequest(Request["DescribeAclsResponse"], api_key=29, versions="0-3", flexible="2+"):
    """Requests the ACLs that match in all fields."""

    resource_type_filter: int8
    """The resource type, for example 2 for topics; 1 for any type."""
    resource_name_filter: nullable[string]
    """The resource name or prefix; None for any."""
    pattern_type_filter: int8 = field(since=1, default=3)
    """The pattern type: 3 literal, 4 prefixed, 1 any, 2 all patterns that apply to the name."""
    principal_filter: nullable[string]
    """The principal, for example `User:alice`; None for any."""
    host_filter: nullable[string]
    """The host of the ACL, where `*` only matches `*`; None for any."""
    operation: int8
    """The operation, for example 3 for read; 1 for any."""
    permission_type: int8
    """2 for denials, 3 for permissions, 1 for both."""


class DescribeAclsResponse(Message, api_key=29, versions="0-3", flexible="2+"):
    """The matching ACLs."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 31 not authorized; 42 invalid filter; 54 the cluster has no authorizer."""
    error_message: nullable[string]
    """The error message; None on success."""
    resources: array[DescribeAclsResource]
    """The resources with at least one matching ACL."""


class DescribeAclsResource(Struct, key=("resource_type", "resource_name", "pattern_type")):
    """A resource pattern and its ACLs."""

    resource_type: int8
    """The resource type: 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user."""
    resource_name: string
    """The name or prefix; `*` with pattern type 3 matches every name."""
    pattern_type: int8 = field(since=1, default=3)
    """The pattern type: 3 literal, 4 prefixed. Version 0 only returns literal patterns."""
    acls: array[AclDescription]
    """The ACLs of the resource that match the filter."""


class AclDescription(Struct):
    """An ACL: a principal and host that are allowed or denied an operation."""

    principal: string
    """The principal, for example `User:alice`; `User:*` for all users."""
    host: string
    """The address of the client; `*` for any."""
    operation: int8
    """The operation, as in CreateAcls; 2 for all."""
    permission_type: int8
    """2 for a denial, 3 for a permission."""
