"""UnregisterController (key 94): remove the registration of a controller.

The active controller responds.
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, nullable, string


class UnregisterControllerRequest(Request["UnregisterControllerResponse"], api_key=94, versions="0", flexible="0+"):
    """Removes a registration."""

    controller_id: int32
    """The node id of the controller that is not needed any more; error 136 if it is not registered."""


class UnregisterControllerResponse(Message, api_key=94, versions="0", flexible="0+"):
    """The result of the removal."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 41 not the active controller; 136 not registered."""
    error_message: nullable[string]
    """The error message; None on success."""
