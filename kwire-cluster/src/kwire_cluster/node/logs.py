"""Structured logs: one JSON object per line.

Events are plain sentences, and facts are fields. While a request is processed, `bound` adds the client and the
correlation id to every event, also of the controller. Clients choose some of the texts, so long ones are
shortened, and a log file is rotated.
"""

from __future__ import annotations

import logging
import sys
import threading
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from time import monotonic
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from typing import TextIO

    from structlog.typing import EventDict, Processor

bound = structlog.contextvars.bound_contextvars
"""`with bound(peer=..., correlation_id=...):` adds these fields to every event."""


MAX_FIELD_LENGTH = 200
MAX_TEXT_LENGTH = 10_000
"""Characters of an event or a traceback."""
MAX_ITEMS = 20
"""Items of a list."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file that is rotated.

    Attributes:
        path: the file; older ones have the suffixes `.1`, `.2`, ...
        max_bytes: the size at which the file is renamed and a new one begins.
        count: the number of older files that are kept.
    """

    path: str
    max_bytes: int
    count: int


def shorten_texts(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Shorten long texts and lists of an event."""
    for key, value in event.items():
        if isinstance(value, str):
            limit = MAX_TEXT_LENGTH if key in {"event", "exception"} else MAX_FIELD_LENGTH
            if len(value) > limit:
                event[key] = f"{value[:limit]}... ({len(value):,} characters)"
        elif isinstance(value, list | tuple) and len(value) > MAX_ITEMS:
            event[key] = [*value[:MAX_ITEMS], f"... ({len(value):,} items)"]
    return event


def configure_logging(stream: TextIO = sys.stderr, level: int = logging.INFO, file: LogFile | None = None) -> None:
    """Write the events of this process, including the events of the standard library's loggers.

    Args:
        stream: the stream for events unless `file` is given.
        level: the lowest level that is written.
        file: the file to which events are appended.

    Raises:
        OSError: the file cannot be written.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
        shorten_texts,
    ]
    handler: logging.Handler = logging.StreamHandler(stream)
    if file is not None:
        handler = RotatingFileHandler(
            file.path, maxBytes=file.max_bytes, backupCount=file.count, encoding="utf-8", errors="backslashreplace"
        )
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    threading.excepthook = _log_failed_thread
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _log_failed_thread(failed: threading.ExceptHookArgs) -> None:
    """Log the exception that ended a thread; Python would write its traceback between the JSON objects."""
    if failed.exc_value is None:
        return
    name = failed.thread.name if failed.thread is not None else ""
    logger(__name__).error("thread failed", thread=name, exc_info=failed.exc_value)


class LineLimit:
    """Limits the log lines about one kind of event that clients cause.

    Args:
        lines: the lines in a second.
    """

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._ends = 0.0
        self._written = 0
        self._skipped = 0

    def take(self) -> int | None:
        """Return None if the event is not to be logged; else how many were skipped since the last one that was."""
        now = monotonic()
        if now >= self._ends:
            self._ends = now + 1
            self._written = 0
        if self._written >= self._lines:
            self._skipped += 1
            return None
        self._written += 1
        skipped, self._skipped = self._skipped, 0
        return skipped


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module."""
    bound_logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return bound_logger
