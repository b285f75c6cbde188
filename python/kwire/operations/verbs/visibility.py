"""Resources that a user can see. Brokers leave out what a user cannot describe, without an error.

A check finds no problem in what is not visible, so that a missing permission would make it green.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from kwire.client.admin import (
    AclBindingFilter,
    AdminError,
    ConfigResource,
    ConfigResourceType,
    NotSupported,
    ResourceType,
)
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient
    from kwire.operations.run import Run

__all__ = ["explain_if_hidden"]

AUTHORIZER = "authorizer.class.name"
"""The setting of kwire's nodes, which is empty without an authorizer."""


class Visibility(Enum):
    """The resources that a user may see.

    Attributes:
        ALL: everything, since the cluster has no authorizer.
        AUTHORIZED: limited by ACLs; the user may describe the cluster, as administrators and their monitoring may.
        LIMITED: limited by ACLs; the user cannot even describe the cluster.
    """

    ALL = auto()
    AUTHORIZED = auto()
    LIMITED = auto()


async def explain_if_hidden(run: Run, count: int, what: str) -> str | None:
    """Return why a check of resources proves nothing, or None. Warn of a check that covers a part of them.

    Args:
        run: the run.
        count: the number of resources that the user can see.
        what: the plural of the resources, such as `topics`.
    """
    visibility = await _visibility(run.admin)
    if visibility is Visibility.ALL:
        return None
    if not count:
        return f"no {what} are visible: the cluster has none, or this user has no Describe permission on any"
    if visibility is Visibility.LIMITED:
        run.warn(f"only the {count} {what} that this user may describe are checked.")
    return None


async def _visibility(admin: AdminClient) -> Visibility:
    if admin.dialect == "kip4":
        return await _visibility_on_nodes(admin)
    try:
        await admin.describe_acls(AclBindingFilter(resource_type=ResourceType.CLUSTER))
    except (NoCommonVersion, NotSupported):
        return Visibility.ALL
    except AdminError as error:
        return Visibility.ALL if error.code == ErrorCode.SECURITY_DISABLED else Visibility.LIMITED
    return Visibility.AUTHORIZED


async def _visibility_on_nodes(admin: AdminClient) -> Visibility:
    [first, *_] = (await admin.describe_cluster()).brokers
    node = ConfigResource(ConfigResourceType.BROKER, str(first.id))
    try:
        settings = (await admin.describe_configs([node]))[node]
    except AdminError:
        return Visibility.LIMITED
    if isinstance(settings, AdminError):
        return Visibility.LIMITED
    authorizer = settings.get(AUTHORIZER)
    return Visibility.AUTHORIZED if authorizer is not None and authorizer.value else Visibility.ALL
