"""Why a command was refused: a code that travels and a sentence for a person.

Rules of this file: what concerns one topic is a ``AdminError`` and other topics of the batch are not touched by it; what
concerns the whole request is ``NotController`` or ``QueueFull``.
"""

from __future__ import annotations

from kwire.errors import KwireError
from kwire.messages.kip4.error_codes import ErrorCode, not_controller_text

__all__ = ["AdminError", "NotController", "QueueFull"]


class AdminError(KwireError):
    """One topic's command was refused. ``code``: of the protocol; ``reason``: a sentence for a person."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class NotController(AdminError):
    """This broker is not the controller (any more). ``broker_id``: its own id. What was under way may have happened."""

    def __init__(self, broker_id: int) -> None:
        super().__init__(ErrorCode.NOT_CONTROLLER_FOR_ADMIN_REQUEST, not_controller_text(broker_id))
        self.broker_id = broker_id


class QueueFull(AdminError):
    """Too many requests wait for the controller already. ``limit``: how many may. Nothing of this one happened."""

    def __init__(self, limit: int) -> None:
        super().__init__(ErrorCode.ADMIN_REQUEST_FAILED, f"{limit} requests wait for the controller already: try later")
        self.limit = limit
