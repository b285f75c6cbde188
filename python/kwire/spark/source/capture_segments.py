"""The captures that driver and executors share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.capture.errors import NotACapture
from kwire.capture.folder import segments
from kwire.storage.location import Location, not_visible

if TYPE_CHECKING:
    from kwire.capture.folder import Segment


def capture_location(folder: object) -> str:
    """Return the one spelling under which the log keeps the place of a capture: an absolute path, or a URI.

    Raises:
        UnsupportedLocation: the scheme is not supported.
    """
    return Location.parse(folder, any_name=True).native


def visible_segments(folder: str) -> tuple[Segment, ...]:
    """Return the segments of a capture in an executor.

    Raises:
        UnsupportedLocation: this machine does not see the folder, although the driver does.
    """
    try:
        return segments(folder)
    except NotACapture:
        raise not_visible(folder) from None
