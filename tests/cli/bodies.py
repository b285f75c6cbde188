"""Messages and frames that several tests use."""

from __future__ import annotations

from tests.proof.material import Exchange, exchanges

METADATA_V13 = (
    "0000000003000000010a3132372e302e302e31000071a3077261636b2d3100000000020a3132372e302e302e31000071a407"
    "7261636b2d320017624746694c57747959575a304e433173595749744d51000000020200000a627261766f2d743034348ff7"
    "811d364c9d8cc2254571e44ec2000300000000000000000001000000010300000003000000010200000001020000000300000000"
    "000001000000010000000003000000010000000203000000010000000201008000000000000000"
)
"""The Metadata response of a Kafka 4.4 broker about one topic, while broker 3 is down."""

EMPTY_METADATA_V13 = "00000000 01 00 ffffffff 01 0000 00"

LIST_TOPICS_KIP4 = "0000 00 01 00000000 00000001 0006 6f7264657273"
"""ListTopicsResponse v0 of dialect kip4: no topic marked for deletion, and the topic `orders`."""

API_VERSIONS_REQUEST = "0012 0003 00000001 0002 6d65 00 026b 0231 00"


def exchange(api_key: int, version: int) -> Exchange:
    """Return a captured request with its response."""
    return next(recorded for recorded in exchanges() if recorded.api_key == api_key and recorded.version == version)
