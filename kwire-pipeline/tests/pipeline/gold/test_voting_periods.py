"""The classification of failed polls by their errors."""

from __future__ import annotations

import re

import pytest

from kwire.protocol import Endpoint
from kwire.protocol.errors import ConnectFailed, ConnectionClosed, Timeout, WrongCorrelation
from kwire_pipeline.gold.diagnosis import PollFailure
from kwire_pipeline.gold.voting_periods import FAILURE_PATTERNS

BROKER = Endpoint("broker-1", 9092)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ConnectFailed(BROKER, "[Errno 111] Connection refused"), PollFailure.REFUSED),
        (ConnectFailed(BROKER, "timed out"), PollFailure.TIMED_OUT),
        (ConnectFailed(BROKER, "Name or service not known"), PollFailure.OTHER),
        (ConnectionClosed(BROKER, 0), PollFailure.CLOSED),
        (ConnectionClosed(BROKER, 4, "Connection reset by peer"), PollFailure.CLOSED),
        (Timeout(BROKER, "MetadataRequest", 5.0), PollFailure.TIMED_OUT),
        (Timeout(BROKER, "MetadataRequest", 5.0, received=4), PollFailure.TIMED_OUT),
        (WrongCorrelation(BROKER, 1, 2), PollFailure.OTHER),
        ("connect: ConnectionRefusedError: [Errno 111] Connection refused", PollFailure.REFUSED),
        ("response: EOFError: closed by the broker after 0 bytes of the response", PollFailure.CLOSED),
        ("no answer to MetadataRequest within 2 s", PollFailure.TIMED_OUT),
    ],
)
def test_error_of_failed_poll_is_classified(error: object, failure: PollFailure) -> None:
    """The patterns match the errors of kwire's client, and those in older captures."""
    kinds = [kind for kind, pattern in FAILURE_PATTERNS.items() if re.search(pattern, str(error))]
    assert (kinds or [PollFailure.OTHER])[0] == failure
