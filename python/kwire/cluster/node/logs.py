"""What a node writes down: one JSON object a line, with the correlation id of the request that it was about.

Rules of this file: events are named in plain words, facts are fields. Inside a request, ``bound`` puts who asked and
with which correlation id into every event, also into those of the controller that works on it.
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
"""``with bound(peer=..., correlation_id=...):`` every event inside bears these."""


def write_to(stream: TextIO = sys.stderr, level: int = logging.INFO) -> None:
    """Write the events of this process to ``stream``, those of the standard library's loggers too."""
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
    logging.getLogger("kazoo").setLevel(logging.WARNING)  # it tells of every connection, and so do we
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
    """A logger for a module; silent about what is below the level that ``write_to`` was given."""
    made: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return made
