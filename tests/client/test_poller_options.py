"""What a poller refuses before it asks anybody."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.client import PolledRequest, Poller, topic_configs
from kwire.testing import FakeCluster
from tests.client.polling import answered, poller, run, until


def test_somebody_must_be_asked() -> None:
    with pytest.raises(ValueError, match="no bootstrap server"):
        Poller("")


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
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
        ("dialect", "foo"),
    ],
)
def test_an_option_that_means_nothing_is_refused_by_its_name(option: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{option} is {value!r}: it must be "):
        Poller("127.0.0.1:1", **{option: value})


@pytest.mark.parametrize("ask", [PolledRequest(topic_configs(), 0), PolledRequest(topic_configs(), 1, brokers="some")])  # type: ignore[arg-type]  # the mistake
def test_so_is_one_of_a_further_request(ask: PolledRequest) -> None:
    with pytest.raises(ValueError, match="of a request is "):
        Poller("127.0.0.1:1", requests=[ask])


def test_a_poller_polls_once(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until(polling, answered)
            with pytest.raises(RuntimeError, match="can be used only once"):
                await polling.__aenter__()
            await until(polling, answered)
        with pytest.raises(RuntimeError, match="can be used only once"):
            await polling.__aenter__()

    run(work())
