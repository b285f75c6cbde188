"""The values of a configuration, with errors that name key and file and never show a secret."""

from __future__ import annotations

import re
from pathlib import Path

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.security.errors import SecurityConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from kwire._util.secret import Secret

    PasswordSource: TypeAlias = Callable[[], Secret]

_UNUSABLE = re.compile("[\0\ud800-\udfff]")


def check_characters(key: str, value: Secret, source: str | None) -> None:
    """Check that a value can be encoded in UTF-8, sent, and be a path.

    Half of a surrogate pair comes from an escape of properties such as U+D800, or from a variable of the environment
    that is not UTF-8. Python's error of its encoding would hold the whole text, which may be a secret.

    Raises:
        SecurityConfigError: the value has another character.
    """
    match = _UNUSABLE.search(value.reveal())
    if match is not None:
        problem = f"has the character U+{ord(match[0]):04X}, which is not valid in UTF-8 or in a path: remove it"
        raise SecurityConfigError(key, problem, source)


class Values:
    """Values by key. An empty value counts as not set, except where `text` is asked to keep it.

    Attributes:
        source: the origin of the values; None if it is not known.
        password: returns the password if the values have none; None if nothing does.
        warnings: sentences about keys and options without effect.
    """

    __slots__ = ("_values", "password", "source", "warnings")

    def __init__(
        self, values: Mapping[str, Secret], source: str | None, password: PasswordSource | None = None
    ) -> None:
        self._values = values
        self.source = source
        self.password = password
        self.warnings: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def text(self, key: str) -> str | None:
        """Return a value that may be shown; None if it is not set or empty."""
        value = self._values.get(key)
        return value.reveal().strip() or None if value is not None else None

    def secret(self, key: str) -> Secret | None:
        """Return a value that must not be shown; None if it is not set or empty."""
        return self._values.get(key) or None

    def list(self, key: str) -> tuple[str, ...]:
        """Return the elements of a comma-separated list."""
        return tuple(part.strip() for part in (self.text(key) or "").split(",") if part.strip())

    def boolean(self, key: str, *, default: bool) -> bool:
        """Return `true` or `false`.

        Raises:
            SecurityConfigError: the value is something else.
        """
        text = self.text(key)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise self.error(key, f"expected true or false, found {text!r}")
        return text.lower() == "true"

    def seconds(self, key: str) -> float | None:
        """Return a number of milliseconds in seconds; None if it is not set.

        Raises:
            SecurityConfigError: the value is not a positive integer.
        """
        text = self.text(key)
        if text is None:
            return None
        # Kafka's type is long, of at most 19 digits.
        if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) > 0):
            raise self.error(key, f"expected a number of milliseconds, found {text[:40]!r}")
        return int(text) / 1000

    def file(self, key: str) -> bytes:
        """Return the content of the file that a value names.

        Raises:
            SecurityConfigError: the file cannot be read.
        """
        path = self.text(key) or ""
        try:
            return Path(path).read_bytes()
        except OSError as error:
            raise self.error(key, f"cannot read {path}: {error.strerror}") from None

    def error(self, key: str, problem: str) -> SecurityConfigError:
        """Return the error for a key."""
        return SecurityConfigError(key, problem, self.source)

    def warn(self, key: str, text: str) -> None:
        """Add a warning about a key."""
        self.warnings.append(str(self.error(key, text)))
