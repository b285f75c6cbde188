"""Checks of changes before their requests are sent: the cluster serves the request, and the user may send it.

The plan of a change, its operation with `validate_only`, ends with them where Kafka cannot validate the request itself.
Nodes of kwire check their own requests, and serve all of them.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.answer import error_code
from kwire.client.admin.errors import AdminError
from kwire.client.admin.permissions import cluster_operation, missing_permission
from kwire.client.admin.targets import ANY
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import NoCommonVersion

if TYPE_CHECKING:
    from kwire.client.admin.session import AdminSession
    from kwire.declare import Message

UNKNOWN_OPERATIONS = -(2**31)
"""Value of the permitted operations in a response that does not report them."""


async def check_change(admin: AdminSession, request: type[Message], item: str = "") -> None:
    """Check that the cluster serves the request of a change, and that this user has its permission on the cluster.

    Permissions on topics, groups, and other resources are not checked.

    Args:
        admin: the cluster.
        request: the request of Kafka that makes the change.
        item: the subject of an error.

    Raises:
        AdminError: 31 not authorized.
        NoCommonVersion: the cluster does not serve the request; brokers of other vendors often serve what describes a
            thing, and not what changes it. The change itself has the same error.
    """
    if admin.dialect != "kafka":
        return
    await admin.router.check_command(request)
    api = request.__module__.rpartition(".")[2]
    needed = cluster_operation(api)
    if needed is not None and not await _is_permitted(admin, needed):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        raise AdminError.of_kafka(code, item, needs=missing_permission(api, code))


async def check_outcomes(
    admin: AdminSession, request: type[Message], outcomes: Outcomes, *, whole: bool = False
) -> Outcomes:
    """Return what a request would answer, from what the client has checked: see `check_change`.

    Items that are as requested need no request of their own, so no permission either. For all others, and for a
    request that is refused as a whole, brokers check the permission first.

    Args:
        admin: the cluster.
        request: the request of Kafka that makes the change.
        outcomes: the outcomes of its items as far as they are checked.
        whole: true if the cluster refuses the whole request where a permission is missing, false if each item.

    Raises:
        AdminError: 31 not authorized, if `whole`.
        NoCommonVersion: see `check_change`.
    """
    requested = [item for item in outcomes if item not in outcomes.unchanged]
    if not requested and not whole:
        return outcomes
    try:
        await check_change(admin, request)
    except AdminError as error:
        if whole:
            raise
        refused = {item: AdminError.of_kafka(error.code, item, needs=error.needs) for item in requested}
        return Outcomes({**outcomes, **refused}, unchanged=outcomes.unchanged)
    return outcomes


async def _is_permitted(admin: AdminSession, name: str) -> bool:
    """Return whether this user may perform an operation on the cluster; True if the cluster does not report it.

    To a user who cannot describe the cluster, brokers report no operation; every other permission implies Describe.

    Args:
        admin: the cluster.
        name: the operation, such as `AlterConfigs`.
    """
    from kwire.client.admin.acl_values import AclOperation  # with dataclasses, which take long to import
    from kwire.messages.kafka.describe_cluster import DescribeClusterRequest

    operation = next(operation for operation in AclOperation if operation.camel_case == name)
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    try:
        response = (await admin.router.read(request, ANY, error_code)).accepted("cluster")
    except NoCommonVersion:  # before Kafka 2.8
        return True
    permitted = response.cluster_authorized_operations
    return permitted == UNKNOWN_OPERATIONS or bool(permitted >> operation.code & 1)
