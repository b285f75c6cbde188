"""CreateAcls (key 30): permits or forbids operations to principals (KIP-140, Kafka 0.11).

Versions:
    1  rules for all names with a prefix (KIP-290, Kafka 2.0); throttled clients are answered first (KIP-219)
    2  flexible
    3  rules about users as resources, for delegation tokens in others' names (KIP-373)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, nullable, string


class CreateAclsRequest(Request["CreateAclsResponse"], api_key=30, versions="0-3", flexible="2+"):
    """Adds rules, each for itself; one that exists already is no error."""

    creations: array[AclCreation]
    """The rules to add."""


class AclCreation(Struct):
    """One rule: who, from where, may or must not do what, to which resource."""

    resource_type: int8
    """What it protects: 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user (version 3)."""
    resource_name: string
    """The name or prefix; ``*`` with pattern type 3 means every name. The cluster is called ``kafka-cluster``."""
    resource_pattern_type: int8 = field(since=1, default=3)
    """How the name is meant: 3 literally, 4 as a prefix; version 0 knows only 3."""
    principal: string
    """Whom it is about, as type and name: ``User:alice``, or ``User:*`` for everybody."""
    host: string
    """The address from which the request comes; ``*`` for any."""
    operation: int8
    """2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10 describe and 11 alter
    configs, 12 idempotent write, 13 create and 14 describe tokens, 15 two-phase commit."""
    permission_type: int8
    """2 deny, 3 allow; a denial outweighs every permission."""


class CreateAclsResponse(Message, api_key=30, versions="0-3", flexible="2+"):
    """What became of each rule."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    results: array[AclCreationResult]
    """One entry a rule, in the order of the request: nothing else tells them apart."""


class AclCreationResult(Struct):
    """Whether one rule was added."""

    error_code: int16
    """0, 31 not permitted, 42 the rule makes no sense, 54 the cluster has no authorizer."""
    error_message: nullable[string]
    """What exactly was wrong, in words; None on success."""
