"""CreateAcls (key 30): create access control entries (KIP-140, Kafka 0.11).

Versions:
    1  prefixed resource patterns (KIP-290, Kafka 2.0); throttled responses are sent at once (KIP-219)
    2  flexible
    3  users as resources, for delegation tokens of other users (KIP-373)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class CreateAclsRequest(Request["CreateAclsResponse"], api_key=30, versions="0-3", flexible="2+"):
    """Creates ACLs, each on its own. Creating an existing ACL is not an error."""

    creations: array[AclCreation]
    """The ACLs to create, each with its own result."""


class AclCreation(Struct):
    """An ACL: a principal and host that are allowed or denied an operation on a resource."""

    resource_type: int8
    """The resource type: 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user (version 3)."""
    resource_name: string
    """The name or prefix of the resource; `*` with pattern type 3 matches every name. The name of the cluster is
    `kafka-cluster`."""
    resource_pattern_type: int8 = field(since=1, default=3)
    """Match of the name: 3 literal, 4 prefixed. Version 0 only supports 3."""
    principal: string
    """The principal as type and name: `User:alice`, or `User:*` for all users."""
    host: string
    """The address of the client; `*` for any."""
    operation: int8
    """The operation: 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10 describe
    configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens, 15 two-phase commit."""
    permission_type: int8
    """2 deny, 3 allow. A denial overrides every permission."""


class CreateAclsResponse(Message, api_key=30, versions="0-3", flexible="2+"):
    """The result for each ACL."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    results: array[AclCreationResult]
    """The results, in the order of the request."""


class AclCreationResult(Struct):
    """The result for one ACL."""

    error_code: int16
    """0; 31 not authorized; 42 invalid ACL; 54 the cluster has no authorizer."""
    error_message: nullable[string]
    """The error message; None on success."""
