"""Structured logs: one JSON object per line.

Events are plain sentences, and facts are fields. While a request is processed, `bound` adds the client and the
correlation id to every event, including those of the controller.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from typing import TextIO

    from structlog.typing import Processor

bound = structlog.contextvars.bound_contextvars
"""`with bound(peer=..., correlation_id=...):` adds these fields to every event."""


def configure_logging(stream: TextIO = sys.stderr, level: int = logging.INFO) -> None:
    """Write the events of this process to `stream`, including those of the standard library's loggers."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("kazoo").setLevel(logging.WARNING)  # kazoo logs every connection, which we log too
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


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the logger of a module."""
    bound_logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return bound_logger
