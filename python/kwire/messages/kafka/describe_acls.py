"""DescribeAcls (key 29): the rules that match a filter, grouped by what they protect (KIP-140, Kafka 0.11).

Numbers for types, operations and permissions are those of CreateAcls; in a filter 1 means any.

Versions:
    1  rules for all names with a prefix (KIP-290, Kafka 2.0); throttled clients are answered first (KIP-219)
    2  flexible
    3  rules about users as resources (KIP-373)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DescribeAclsRequest(Request["DescribeAclsResponse"], api_key=29, versions="0-3", flexible="2+"):
    """Asks for the rules that match in every field."""

    resource_type_filter: int8
    """What the rules protect, e.g. 2 topics; 1 for any type of resource."""
    resource_name_filter: nullable[string]
    """The name or prefix that the rules were made for; None for any."""
    pattern_type_filter: int8 = field(since=1, default=3)
    """How the rules mean their name: 3 literally, 4 as prefix, 1 any; 2 for all rules that would apply to this name."""
    principal_filter: nullable[string]
    """Whom the rules are about, e.g. ``User:alice``; None for any."""
    host_filter: nullable[string]
    """The address that the rules name, where ``*`` is the literal star; None for any."""
    operation: int8
    """What the rules permit or forbid, e.g. 3 to read; 1 for any."""
    permission_type: int8
    """2 for denials only, 3 for permissions only, 1 for both."""


class DescribeAclsResponse(Message, api_key=29, versions="0-3", flexible="2+"):
    """The rules found."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    error_code: int16
    """0, 31 not permitted, 42 the filter makes no sense, 54 the cluster has no authorizer."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None on success."""
    resources: array[DescribeAclsResource]
    """What is protected by at least one rule that matched; empty when none did."""


class DescribeAclsResource(Struct, key=("resource_type", "resource_name", "pattern_type")):
    """One resource, or all those whose names share a prefix, and the rules about it."""

    resource_type: int8
    """What it is: 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user."""
    resource_name: string
    """The name or prefix; ``*`` with pattern type 3 means every name."""
    pattern_type: int8 = field(since=1, default=3)
    """How the name is meant: 3 literally, 4 as prefix. Version 0 can tell of literal rules only."""
    acls: array[AclDescription]
    """The rules that matched; others about the same resource are not shown."""


class AclDescription(Struct):
    """One rule: who, from where, may or must not do what."""

    principal: string
    """Whom it is about, e.g. ``User:alice``; ``User:*`` for everybody."""
    host: string
    """The address from which the request comes; ``*`` for any."""
    operation: int8
    """What it permits or forbids, as in CreateAcls; 2 for everything."""
    permission_type: int8
    """2 for a denial, 3 for a permission."""
