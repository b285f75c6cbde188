"""A text that must not be shown: a password, a private key, or a token."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

HIDDEN = "[hidden]"
"""The text in place of a secret, as in Kafka's own logs."""


class Secret:
    """A text that `repr`, `str`, and `format` do not show.

    Secrets with the same text are equal. A secret cannot be pickled: what is pickled ends up in files and logs.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a secret is a str, not {type(text).__name__}")
        self._text = text

    def reveal(self) -> str:
        """Return the text. Do not keep it in a variable: tracebacks may show local variables."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, format_spec: str) -> str:
        return format(HIDDEN, format_spec)

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __bool__(self) -> bool:
        return bool(self._text)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled: pass the path of a file, or the text of `reveal()` on purpose")
