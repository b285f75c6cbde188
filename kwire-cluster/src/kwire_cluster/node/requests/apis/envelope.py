"""Envelope, key 58 (KIP-590): a request that another node forwards for one of its clients.

The sender needs ClusterAction. The inner request is authorized and answered as if the client had sent it to this node.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from kwire.authorization.acl_authorizer import AclOperation, Permission
from kwire.authorization.subjects import Subject, normalized_host
from kwire.messages.kafka.envelope import EnvelopeRequest, EnvelopeResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError
from kwire_cluster.node.listener.connection_limits import ConnectedClient, InvalidRequest

if TYPE_CHECKING:
    from kwire_cluster.node.requests.request_context import RequestContext

CLUSTER_ACTION = Permission(AclOperation.CLUSTER_ACTION, "Cluster")
PERMISSIONS = (CLUSTER_ACTION,)


async def handle(request: EnvelopeRequest, context: RequestContext) -> EnvelopeResponse:
    """Answer the inner request with the permissions of its sender."""
    try:
        context.require(CLUSTER_ACTION)
    except CommandError:
        return EnvelopeResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    try:
        subject = _subject(request)
    except ValueError:
        return EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    if int.from_bytes(request.request_data[:2], "big") == EnvelopeRequest.api_key:  # Kafka refuses these as well
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    # The log and the audit name the sender, too: without an authorizer, any client can send it.
    sender = context.client.address if context.client is not None else ""
    client = ConnectedClient(f"{subject.host} through {context.subject.principal} {sender}")
    client.host, client.subject, client.is_tool = subject.host, subject, True
    try:
        response = await context.answer_inner(request.request_data, client)
    except InvalidRequest:
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    return EnvelopeResponse(response_data=response, error_code=ErrorCode.NONE)


def _subject(request: EnvelopeRequest) -> Subject:
    """Return the sender of the inner request.

    Raises:
        ValueError: the principal is missing or no text, or the address has neither 4 nor 16 bytes.
    """
    if not request.request_principal:
        raise ValueError("no principal")
    address = bytes(request.client_host_address)
    host = normalized_host(str(ip_address(address))) if address else ""
    return Subject(bytes(request.request_principal).decode(), host)
