"""Pauses of a live job after errors that may pass: a busy store, storage that does not respond, a lost executor."""

from __future__ import annotations

import logging

from deltalake.exceptions import DeltaError
from pyspark.errors import PySparkException

from kwire_pipeline.store.errors import MissingFiles, StoreInUse

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""Pauses in seconds: the first one, and the longest one, to which they double. Chosen, not measured."""

SPARK_ATTEMPTS = 20
"""Maximum number of attempts that fail in a row with errors of Spark, a quarter of an hour: they hide their causes, so
they include errors that never pass."""

TEMPORARY = (StoreInUse, MissingFiles, OSError, DeltaError, PySparkException)
"""Errors to give to `Backoff.pause_after`."""

PERMANENT = (PermissionError, NotADirectoryError, IsADirectoryError)


class Backoff:
    """Decides when something is attempted again.

    Args:
        what: the task, for the log.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._failures = 0

    def pause_after(self, error: Exception) -> float:
        """Return the seconds to wait after a failed attempt, and log them.

        Raises:
            Exception: `error`, if another attempt cannot succeed.
        """
        self._failures += 1
        hides_cause = isinstance(error, PySparkException)
        if isinstance(error, PERMANENT) or (hides_cause and self._failures >= SPARK_ATTEMPTS):
            raise error
        pause = min(FIRST_PAUSE_S * 2.0 ** (self._failures - 1), LONGEST_PAUSE_S)
        reason = str(error).strip().partition("\n")[0]
        log.warning("%s failed, next attempt in %.0f s: %s", self._what, pause, reason or repr(error))
        return pause

    def reset(self) -> None:
        """Take note of success: the next pause is the first one again."""
        self._failures = 0
