"""A Python callable that receives incidents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kwire.spark.sinks.publisher import SinkFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.spark.sinks.notice import IncidentNotice


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


def load_callable(text: str) -> CallableSink:
    """Return the sink for `module:function`.

    Raises:
        ValueError: the module cannot be imported, or does not have the function.
    """
    module, _, name = text.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"expected module:function, got {text!r}: {error}") from error
    return CallableSink(function, text.replace(":", "."))
