"""Permissions that a run of an operation requires."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.authorization.acl_entries import CLUSTER_NAME

if TYPE_CHECKING:
    from kwire.authorization.acl_authorizer import Permission


class Requirement(NamedTuple):
    """The permission that a run of a tool requires.

    Attributes:
        permission: the operation, and the type of the resource.
        name: the name of the resource.
    """

    permission: Permission
    name: str = CLUSTER_NAME
