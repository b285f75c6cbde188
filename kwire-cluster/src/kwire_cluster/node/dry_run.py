"""Dry runs of administrative requests: the controller answers a request as if it executed it, and writes nothing.

Requests of Kafka have a field `validate_only`; those of the drafts have none. So a client sends the whole request,
with its header, as the arguments of an Admin request with the tool `dry-run`: in Base64, in parts, because a string has
at most 32,767 bytes. The output is the response. The request is decoded, limited, and authorized like any other
request of its sender.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING

from kwire.messages.kip4.admin import AdminResponse
from kwire.messages.kip4.alter_topic import AlterTopicRequest
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.delete_topic import DeleteTopicRequest
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.preferred_replica_leader_election import PreferredReplicaLeaderElectionRequest
from kwire.messages.kip4.reassign_partitions import ReassignPartitionsRequest
from kwire.messages.kip584.update_features import UpdateFeaturesRequest
from kwire_cluster.node.listener.connection_limits import ConnectedClient, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.node.requests.request_context import RequestContext

TOOL = "dry-run"
CHANGING = frozenset(
    request.api_key
    for request in (
        AlterTopicRequest,
        CreateTopicRequest,
        DeleteTopicRequest,
        PreferredReplicaLeaderElectionRequest,
        ReassignPartitionsRequest,
        UpdateFeaturesRequest,
    )
)
"""Keys of the APIs whose methods of `AdminBackend` have `validate_only`. All others are refused."""


async def answer_without_effect(arguments: Sequence[str], context: RequestContext) -> AdminResponse:
    """Answer the request in the arguments, and change nothing."""
    try:
        payload = b64decode("".join(arguments), validate=True)
    except (binascii.Error, ValueError):
        return _refused("expected a request in Base64")
    if int.from_bytes(payload[:2], "big") not in CHANGING:
        return _refused("only requests that change topics, leaders, replicas, or features have dry runs")
    sender = context.client
    client = ConnectedClient(sender.address if sender is not None else "")
    client.host, client.subject = context.subject.host, context.subject
    client.is_tool = client.validates_only = True
    try:
        output = await context.answer_inner(payload, client)
    except InvalidRequest as error:
        return _refused(error.detail)
    return AdminResponse(error_code=ErrorCode.NO_ERROR, exit_status=0, output=output)


def _refused(reason: str) -> AdminResponse:
    return AdminResponse(error_code=ErrorCode.ADMIN_REQUEST_FAILED, error_description=reason, exit_status=1, output=b"")
