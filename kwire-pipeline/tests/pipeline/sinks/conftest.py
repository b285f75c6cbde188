"""A webhook for each test of sinks, and the end of its deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipeline.sinks.alerts import DELIVERIES
from tests.pipeline.webhook import Webhook

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    receiver = Webhook()
    yield receiver
    receiver.close()


@pytest.fixture(autouse=True)
def end_deliveries() -> Iterator[None]:
    """Release the ledgers of a test, as the end of its process would."""
    yield
    while DELIVERIES:
        DELIVERIES.pop().release()
