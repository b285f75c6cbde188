"""Options that a poller rejects before it sends a request."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.client import PolledRequest, Poller, topic_configs
from kwire.testing import FakeCluster
from tests.client.polling import poller, succeeded, until
from tests.for_rows import for_rows


def test_bootstrap_is_required() -> None:
    with pytest.raises(ValueError, match="no bootstrap server"):
        Poller("")


NAN, INFINITY = float("nan"), float("inf")


@for_rows(
    ("option", "value"),
    [
        *[
            (option, value)
            for option in ("interval", "timeout", "longest_pause")
            for value in (0, -1, NAN, INFINITY, "1")
        ],
        *[("forget_after", value) for value in (-1, NAN, None)],
        *[("queue_size", value) for value in (0, -1, 1.5)],
        ("overflow", "block"),
        ("brokers", "some"),
        ("topics", "some"),
        ("dialect", "foo"),
    ],
)
def test_invalid_option_is_rejected_by_name(option: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{option} is {value!r}: it must be "):
        Poller("127.0.0.1:1", **{option: value})


@for_rows(
    "request_",
    [PolledRequest(topic_configs(), 0), PolledRequest(topic_configs(), 1, brokers="some")],  # type: ignore[arg-type]  # the mistake
)
def test_invalid_option_of_a_further_request_is_rejected(request_: PolledRequest) -> None:
    with pytest.raises(ValueError, match="of a request is "):
        Poller("127.0.0.1:1", requests=[request_])


async def test_poller_can_be_used_only_once(cluster: FakeCluster) -> None:
    async with poller(cluster) as polling:
        await until(polling, succeeded)
        with pytest.raises(RuntimeError, match="can be used only once"):
            await polling.__aenter__()
        await until(polling, succeeded)
    with pytest.raises(RuntimeError, match="can be used only once"):
        await polling.__aenter__()
