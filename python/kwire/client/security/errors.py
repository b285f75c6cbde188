"""The error of a security configuration."""

from __future__ import annotations

from kwire.errors import KwireError


class SecurityConfigError(KwireError, ValueError):
    """A security configuration is invalid, incomplete, or needs a package that is not installed.

    The text never contains the value of a secret.

    Attributes:
        key: the key of `client.properties` that is wrong or missing; None if it is not about one key.
        problem: the problem and its remedy.
        source: the file that was read; None if the configuration was made in code.
    """

    def __init__(self, key: str | None, problem: str, source: str | None = None) -> None:
        super().__init__(key, problem, source)
        self.key = key
        self.problem = problem
        self.source = source

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.key, self.problem) if part)
