"""Times as integers, as Delta and the tables of kwire store them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kwire._util.light_typing import overload

__all__ = ["microseconds"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@overload
def microseconds(time: datetime) -> int: ...
@overload
def microseconds(time: datetime | None) -> int | None: ...
def microseconds(time: datetime | None) -> int | None:
    """Return microseconds since 1970, exactly: `datetime.timestamp` returns a float. None stays None.

    A time without a zone is local, as for `datetime.timestamp`.
    """
    if time is None:
        return None
    aware = time.astimezone(UTC) if time.tzinfo is None else time
    return (aware - EPOCH) // MICROSECOND
