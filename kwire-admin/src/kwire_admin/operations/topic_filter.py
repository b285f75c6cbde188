"""Topics by regular expression, as the options `--whitelist` and `--blacklist` of Kafka's tools name them."""

from __future__ import annotations

from kwire._kwire import Pattern
from kwire_admin.operations.parameters import InvalidArgument


class TopicFilter:
    """Topics that match one expression and not another. Internal topics are never among them.

    As in Kafka, a comma stands for `|`. The whole name must match. Patterns are matched in linear time, so they have
    neither look-around nor backreferences.

    Raises:
        InvalidArgument: an expression is invalid.
    """

    def __init__(self, include: str = ".*", exclude: str | None = None) -> None:
        self._include = _compiled(include)
        self._exclude = None if exclude is None else _compiled(exclude)

    def accepts(self, topic: str) -> bool:
        """Return whether the topic is among them."""
        if not self._include.matches(topic):
            return False
        return self._exclude is None or not self._exclude.matches(topic)


def _compiled(text: str) -> Pattern:
    try:
        return Pattern(text.strip("\"' ").replace(",", "|"))
    except ValueError as error:
        raise InvalidArgument(f"{text!r} is not a regular expression: {error}") from None
