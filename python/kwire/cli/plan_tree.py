"""Renders the text of a plan as a tree with one field a line.

The only input is the plan's text (grammar: `docs/plans.md`), so the tree shows exactly what the engine gets.
"""

from __future__ import annotations

import re

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"\w+")
_LITERAL = re.compile(r'(?:[xu])?"(?:[^"\\]|\\.)*"|\[\]|\{\}|[^\s<>{}]+')
_CLOSING = {"<": ">", "{": "}"}


class PlannedField(NamedTuple):
    """A field of a plan.

    Attributes:
        type: the type as in the plan, with `struct` for a struct.
        remark: tag and default, or how an absent field is read and written.
        inner: the fields of the struct.
    """

    name: str
    type: str
    remark: str
    inner: list[PlannedField]


def plan_tree(text: str) -> Iterator[str]:
    """Return the lines of a plan's tree."""
    name, version, body = text.split(" ", 2)
    yield f"{name} {version}, {'flexible' if body[0] == '<' else 'not flexible'}"
    planned, _ = _struct(body, 0)
    rows = list(_rows(planned, ""))
    names = max((len(label) for label, *_ in rows), default=0)
    types = max((len(type) for _, type, _ in rows), default=0)
    for label, type, remark in rows:
        yield f"{label:{names}}  {type:{types}}  {remark}".rstrip()


def _rows(planned: list[PlannedField], indent: str) -> Iterator[tuple[str, str, str]]:
    for index, field in enumerate(planned):
        last = index == len(planned) - 1
        yield f"{indent}{'└── ' if last else '├── '}{field.name}", field.type, field.remark
        yield from _rows(field.inner, indent + ("    " if last else "│   "))


def _struct(text: str, at: int) -> tuple[list[PlannedField], int]:
    """Parse the struct at an offset; return its fields and the offset after it."""
    closing = _CLOSING[text[at]]
    fields = []
    at += 1
    while text[at] != closing:
        if text[at] == " ":
            at += 1
        field, at = _field(text, at)
        fields.append(field)
    return fields, at + 1


def _field(text: str, at: int) -> tuple[PlannedField, int]:
    absent = {"~": "ignored", "-": "rejected"}.get(text[at])
    name, at = _match(_NAME, text, at + (absent is not None))
    if absent is not None:
        default, at = _match(_LITERAL, text, at + 1)
        return PlannedField(name, "not in this version", f"read as {default}, another value is {absent}", []), at
    remark = ""
    if text[at] == "#":
        tag, at = _match(_NAME, text, at + 1)
        remark = f"tag {tag}"
    type, inner, at = _type(text, at + 1)
    if text[at] == "=":
        default, at = _default(text, at + 1)
        remark += f", not written when {default}"
    return PlannedField(name, type, remark, inner), at


def _default(text: str, at: int) -> tuple[str, int]:
    """Parse the default at an offset, which can be a struct; return its text and the offset after it."""
    start = at
    if text[at] != "{" or text.startswith("{}", at):
        return _match(_LITERAL, text, at)
    while text[at] != "}":
        _, at = _match(_NAME, text, at + 1)
        _, at = _default(text, at + 1)
    return text[start : at + 1], at + 1


def _type(text: str, at: int) -> tuple[str, list[PlannedField], int]:
    """Parse the type at an offset; return its name, the fields of its struct, and the offset after it."""
    if text[at] in _CLOSING:
        inner, at = _struct(text, at)
        name = "struct"
    else:
        word = _NAME.match(text, at)
        name = word[0] if word else ""
        at += len(name)
        inner = []
        if text[at] in "([":
            element, inner, at = _type(text, at + 1)
            name += f"[{element}]" if text[at] == "]" else f"({element})"
            at += 1
    if text[at] == "?":
        return f"{name}?", inner, at + 1
    return name, inner, at


def _match(pattern: re.Pattern[str], text: str, at: int) -> tuple[str, int]:
    match = pattern.match(text, at)
    assert match is not None, f"malformed plan at {at}: {text}"
    return match[0], match.end()
