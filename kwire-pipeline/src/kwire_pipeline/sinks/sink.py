"""Receivers of incidents: the interface of a sink, and the sink that calls a function of Python."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_pipeline.sinks.notice import IncidentNotice


class SinkFailed(KwireError, ConnectionError):
    """A sink did not accept a notice.

    Args:
        sink: the sink, for people; without secrets.
        reason: the reason, without secrets.
        is_final: True if the sink will never accept this notice.
        may_have_arrived: False if the sink certainly has not processed the notice.
        retry_after: seconds in which the sink wants no notices.
    """

    def __init__(
        self,
        sink: str,
        reason: object,
        *,
        is_final: bool = False,
        may_have_arrived: bool = True,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(sink, reason)
        self.sink = sink
        self.reason = reason
        self.is_final = is_final
        self.may_have_arrived = may_have_arrived and not is_final
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.sink} did not accept an incident: {self.reason}"


class IncidentSink(Protocol):
    """Receives `firing` for each incident that lasts, and `resolved` when it has ended."""

    @property
    def name(self) -> str:
        """The name of the sink's ledger, which the same sink must have after a restart."""

    def send(self, notice: IncidentNotice) -> None:
        """Deliver a notice.

        Raises:
            SinkFailed: it was not accepted. Any other exception means the same, and that it may have arrived.
        """


@runtime_checkable
class RepeatingSink(Protocol):
    """A sink that forgets open alerts unless they are repeated, and takes several notices at once.

    Attributes:
        open_alerts: number of alerts that are open, or will be after this round. The delivery sets it.
    """

    open_alerts: int

    @property
    def repeat_s(self) -> float:
        """Seconds between repetitions."""

    def send_batch(self, notices: Sequence[IncidentNotice]) -> None:
        """Deliver notices as `send` does: new ones, or again the `firing` notices of open alerts.

        Raises:
            SinkFailed: they were not accepted; some of them may have arrived.
        """


class CallableSink:
    """Calls a function with each `IncidentNotice`; an exception means that it did not accept the notice.

    Args:
        function: the function.
        name: the name of the ledger [default: the function's module and name].
    """

    def __init__(self, function: Callable[[IncidentNotice], object], name: str | None = None) -> None:
        self._function = function
        self.name = name or f"{function.__module__}.{function.__qualname__}"

    def send(self, notice: IncidentNotice) -> None:
        """Call the function."""
        try:
            self._function(notice)
        except Exception as error:
            raise SinkFailed(self.name, repr(error)) from error


def load_callable(text: str, name: str | None = None) -> CallableSink:
    """Return the sink for `module:function`; `name` is the name of the ledger [default: from `text`].

    Raises:
        ValueError: the module cannot be imported, or does not have the function.
    """
    module, _, attribute = text.partition(":")
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"expected module:function, got {text!r}: {error}") from error
    return CallableSink(function, name or text.replace(":", "."))
