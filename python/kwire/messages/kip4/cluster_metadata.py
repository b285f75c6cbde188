"""ClusterMetadata: how an admin client finds the brokers and, among them, the controller (KIP-4, KAFKA-1694)."""

from __future__ import annotations

from kwire.declare import Message, Request, array, int16, maybe
from kwire.messages.kip4.structures import Broker


class ClusterMetadataRequest(Request["ClusterMetadataResponse"], api_key=1000, versions="0", dialect="kip4"):
    """Asks any broker who is in the cluster; has no arguments. The drafts name no key, 1000 is decision D3."""


class ClusterMetadataResponse(Message, api_key=1000, versions="0", dialect="kip4"):
    """The live brokers and the controller."""

    error_code: int16
    """0, or why there is no answer: ``ErrorCode``."""
    brokers: array[Broker]
    """The brokers alive now, in no particular order."""
    controller: maybe[Broker] = None
    """The broker that takes admin requests; None while none is known, with code 0 during an election: try again."""
