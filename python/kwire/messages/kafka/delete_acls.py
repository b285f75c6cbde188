"""DeleteAcls (key 31): delete the ACLs that match filters (KIP-140, Kafka 0.11).

CreateAcls lists the numbers of resource types, operations, and permissions. In a filter, 1 matches any.

Versions:
    1  prefixed resource patterns (KIP-290, Kafka 2.0); throttled responses are sent at once (KIP-219)
    2  flexible
    3  users as resources (KIP-373)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DeleteAclsRequest(Request["DeleteAclsResponse"], api_key=31, versions="0-3", flexible="2+"):
    """Deletes every ACL that matches at least one filter. DescribeAcls shows beforehand what a filter matches."""

    filters: array[DeleteAclsFilter]
    """The filters, each with its own result."""


class DeleteAclsFilter(Struct):
    """A filter; an ACL matches if all fields match."""

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


class DeleteAclsResponse(Message, api_key=31, versions="0-3", flexible="2+"):
    """The deleted ACLs."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    filter_results: array[DeleteAclsFilterResult]
    """The result for each filter, in the order of the request."""


class DeleteAclsFilterResult(Struct):
    """The result for one filter."""

    error_code: int16
    """0; 31 not authorized; 42 invalid filter; 54 the cluster has no authorizer."""
    error_message: nullable[string]
    """The error message; None if there was no error with the filter."""
    matching_acls: array[DeleteAclsMatchingAcl]
    """The ACLs that matched. An empty result is not an error."""


class DeleteAclsMatchingAcl(Struct):
    """A matching ACL and whether it was deleted."""

    error_code: int16
    """0 if the ACL was deleted; -1 or another code if it still exists."""
    error_message: nullable[string]
    """The reason why the ACL still exists; None if it was deleted."""
    resource_type: int8
    """The resource type, numbered as in CreateAcls."""
    resource_name: string
    """The name or prefix that the ACL matches."""
    pattern_type: int8 = field(since=1, default=3)
    """The pattern type: 3 literal, 4 prefixed. Version 0 only returns literal patterns."""
    principal: string
    """The principal, for example `User:alice`."""
    host: string
    """The address of the client; `*` for any."""
    operation: int8
    """The operation, numbered as in CreateAcls."""
    permission_type: int8
    """2 for a denial, 3 for a permission."""
