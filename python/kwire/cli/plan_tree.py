"""The text of a plan, one field a line.

Rules of this file: it reads the text by the grammar of ``docs/plans.md`` and nothing else, so what it shows is what the
engine is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"\w+")
_LITERAL = re.compile(r'(?:[xu])?"(?:[^"\\]|\\.)*"|\[\]|\{\}|[^\s<>{}]+')
_CLOSING = {"<": ">", "{": "}"}


class PlannedField(NamedTuple):
    """``type``: as in the plan, with ``...`` in the place of a struct. ``remark``: tag and default, or what it means to
    be absent. ``inside``: the fields of that struct.
    """

    name: str
    type: str
    remark: str
    inside: list[PlannedField]


def plan_tree(text: str) -> Iterator[str]:
    """The lines of a plan's tree."""
    name, version, body = text.split(" ", 2)
    yield f"{name} {version}, {'flexible' if body[0] == '<' else 'not flexible'}"
    planned, _ = _struct(body, 0)
    rows = list(_rows(planned, ""))
    names = max((len(label) for label, *_ in rows), default=0)
    types = max((len(type) for _, type, _ in rows), default=0)
    for label, type, remark in rows:
        yield f"{label:{names}}  {type:{types}}  {remark}".rstrip()


def _rows(planned: list[PlannedField], before: str) -> Iterator[tuple[str, str, str]]:
    for place, field in enumerate(planned):
        last = place == len(planned) - 1
        yield f"{before}{'└── ' if last else '├── '}{field.name}", field.type, field.remark
        yield from _rows(field.inside, before + ("    " if last else "│   "))


def _struct(text: str, at: int) -> tuple[list[PlannedField], int]:
    """The fields of the struct that opens at a place, and where it is over."""
    closing = _CLOSING[text[at]]
    found = []
    at += 1
    while text[at] != closing:
        if text[at] == " ":
            at += 1
        field, at = _field(text, at)
        found.append(field)
    return found, at + 1


def _field(text: str, at: int) -> tuple[PlannedField, int]:
    absent = {"~": "ignored", "-": "refused"}.get(text[at])
    name, at = _match(_NAME, text, at + (absent is not None))
    if absent is not None:
        default, at = _match(_LITERAL, text, at + 1)
        return PlannedField(name, "not in this version", f"read as {default}, another value is {absent}", []), at
    remark = ""
    if text[at] == "#":
        tag, at = _match(_NAME, text, at + 1)
        remark = f"tag {tag}"
    type, inside, at = _type(text, at + 1)
    if text[at] == "=":
        default, at = _match(_LITERAL, text, at + 1)
        remark += f", not written when {default}"
    return PlannedField(name, type, remark, inside), at


def _type(text: str, at: int) -> tuple[str, list[PlannedField], int]:
    """A type, the fields of the struct in it, and where it is over."""
    if text[at] in _CLOSING:
        inside, at = _struct(text, at)
        spelled = "struct"
    else:
        word = _NAME.match(text, at)
        spelled = word[0] if word else ""
        at += len(spelled)
        inside = []
        if text[at] in "([":
            inner, inside, at = _type(text, at + 1)
            spelled += f"[{inner}]" if text[at] == "]" else f"({inner})"
            at += 1
    if text[at] == "?":
        return f"{spelled}?", inside, at + 1
    return spelled, inside, at


def _match(pattern: re.Pattern[str], text: str, at: int) -> tuple[str, int]:
    found = pattern.match(text, at)
    assert found is not None, f"no plan, at {at}: {text}"
    return found[0], found.end()
