"""The further inputs that commands poll on request, each declared once: options of commands derive from `INPUTS`."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, Literal, NamedTuple
from kwire.client.polled_offsets import group_offsets
from kwire.client.polled_requests import PolledRequest, log_dirs, topic_configs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kwire.client.polled_requests import RequestFactory
    from kwire.declare import Request


class PolledInput(NamedTuple):
    """A further input.

    Attributes:
        doc: a description of the input.
        create: creates the request, or the factory of requests.
        brokers: `all` polled brokers, or `one` that responds.
    """

    doc: str
    create: Callable[[], Request[Any] | RequestFactory]
    brokers: Literal["all", "one"] = "all"


INPUTS = {
    "configs": PolledInput("topic configs", topic_configs, "one"),
    "groups": PolledInput("committed offsets of groups and the ends of their logs", group_offsets),
    "log_dirs": PolledInput("log directories and the sizes of replicas", log_dirs),
}
"""The inputs by name."""


def polled_requests(intervals: Mapping[str, float | None]) -> list[PolledRequest]:
    """Return the requests of inputs, each over a connection of its own, since their responses may be slow.

    Args:
        intervals: seconds between two polls by the names of `INPUTS`; None does not poll the input.
    """
    return [
        PolledRequest(INPUTS[name].create(), interval, INPUTS[name].brokers, separate_connection=True)
        for name, interval in intervals.items()
        if interval is not None
    ]
