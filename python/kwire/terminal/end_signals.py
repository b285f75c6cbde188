"""SIGTERM and SIGHUP as an interrupt: a command that is ended says what it has changed, as after Ctrl-C.

Deleted pods, canceled jobs, and stopped services get SIGTERM, and a closed terminal sends SIGHUP. Without a handler,
the process ends at once, without a word about a change that was sent.
"""

from __future__ import annotations

from contextlib import contextmanager

from kwire._util.light_typing import TYPE_CHECKING
from kwire.terminal.problems import INTERRUPTED

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
    from types import FrameType
else:
    import _signal as signal  # without the enumerations of its numbers, which take longer to make than to handle

__all__ = ["ENDED", "EndSignal", "end_signals"]

NUMBERS = tuple(number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None)
ENDED = (INTERRUPTED, *(128 + number for number in NUMBERS))
"""Exit codes of a run that a signal has ended."""


class EndSignal:
    """The signal that has ended a run.

    Attributes:
        exit_code: the exit code of the run, 128 plus the number of the signal as shells count; 130 after Ctrl-C.
    """

    def __init__(self) -> None:
        self.exit_code = INTERRUPTED

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the run as Ctrl-C does.

        Jobs in the background ignore SIGINT, so that there is no handler to call.
        """
        self.exit_code = 128 + number
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)


@contextmanager
def end_signals() -> Iterator[EndSignal]:
    """Interrupt the block when SIGTERM or SIGHUP arrives, unless it is ignored or has another handler."""
    received = EndSignal()
    handled = [number for number in NUMBERS if signal.getsignal(number) == signal.SIG_DFL]
    try:
        for number in handled:
            signal.signal(number, received.handle)
    except ValueError:  # only the main thread can handle signals
        handled = []
    try:
        yield received
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
