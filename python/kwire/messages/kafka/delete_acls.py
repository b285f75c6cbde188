"""DeleteAcls (key 31): removes the rules that match filters, and tells which they were (KIP-140, Kafka 0.11).

Numbers for types, operations and permissions are those of CreateAcls; in a filter 1 means any.

Versions:
    1  rules for all names with a prefix (KIP-290, Kafka 2.0); throttled clients are answered first (KIP-219)
    2  flexible
    3  rules about users as resources (KIP-373)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class DeleteAclsRequest(Request["DeleteAclsResponse"], api_key=31, versions="0-3", flexible="2+"):
    """Removes every rule that matches at least one filter. DescribeAcls shows beforehand what a filter matches."""

    filters: array[DeleteAclsFilter]
    """The filters, each answered for itself."""


class DeleteAclsFilter(Struct):
    """A rule matches when it matches in every field."""

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


class DeleteAclsResponse(Message, api_key=31, versions="0-3", flexible="2+"):
    """The rules that were removed."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    filter_results: array[DeleteAclsFilterResult]
    """One entry a filter, in the order of the request: nothing else tells them apart."""


class DeleteAclsFilterResult(Struct):
    """What one filter did."""

    error_code: int16
    """0, 31 not permitted, 42 the filter makes no sense, 54 the cluster has no authorizer."""
    error_message: nullable[string]
    """What exactly was wrong with the filter, in words; None on success."""
    matching_acls: array[DeleteAclsMatchingAcl]
    """The rules that matched; no error when there are none."""


class DeleteAclsMatchingAcl(Struct):
    """One rule that matched, and whether it is gone."""

    error_code: int16
    """0 when it was removed; -1 or another code when it still stands."""
    error_message: nullable[string]
    """Why it still stands, in words; None when it was removed."""
    resource_type: int8
    """What it protected, as in CreateAcls."""
    resource_name: string
    """The name or prefix it was made for."""
    pattern_type: int8 = field(since=1, default=3)
    """How it meant that name: 3 literally, 4 as prefix. Version 0 can tell of literal rules only."""
    principal: string
    """Whom it was about, e.g. ``User:alice``."""
    host: string
    """The address it named; ``*`` for any."""
    operation: int8
    """What it permitted or forbade, as in CreateAcls."""
    permission_type: int8
    """2 when it was a denial, 3 when a permission."""
