"""``kwire messages``: which messages there are, and what the fields of one mean."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from kwire.cli.colors import Choice, paint_for
from kwire.cli.documentation import documented
from kwire.cli.names import DIALECTS, UnknownName, named_both
from kwire.cli.options import colour, complete_message
from kwire.cli.records import json_text
from kwire.cli.tables import GAP, Column, print_table
from kwire.declare.documentation import docstring
from kwire.declare.introspect import describe
from kwire.messages import every

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.cli.colors import Paint
    from kwire.cli.documentation import Documented
    from kwire.declare import Message

_Row: TypeAlias = tuple[str, str, str, str, str]
"""Name, type, versions, default, and what it means."""

WIDTH_ELSEWHERE = 120
"""Columns of text where there is no terminal to ask."""
NARROWEST_TEXT = 30


@click.command()
@click.argument("name", required=False, shell_complete=complete_message)
@click.option("-d", "--dialect", type=click.Choice(DIALECTS), help="Only the messages of this dialect.")
@click.option("-v", "--version", type=int, metavar="N", help="Only what stands in this version.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@colour
def messages(name: str | None, dialect: str | None, version: int | None, output: str, color: Choice) -> int:
    """List all messages, or the fields of one and what they mean.

    NAME is a message, or an API for its request and its response.

    \b
    Examples:
      kwire messages
      kwire messages --dialect kip4
      kwire messages MetadataResponse --version 12
      kwire messages -o json | jq -r '.[] | select(.flexible) | .name'
    """  # noqa: D301  # \b is click's mark
    paint = paint_for(sys.stdout, color)
    if name is None:
        _print_list(dialect, version, output, paint)
        return 0
    try:
        classes = named_both(name, dialect or "kafka")
    except UnknownName as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    having = [cls for cls in classes if version is None or version in cls.versions]
    if not having:
        ranges = " and ".join(f"{cls.__name__} has {cls.versions}" for cls in classes)
        raise click.BadParameter(f"No version {version}: {ranges}.", param_hint="--version")
    if output == "json":
        print(json_text([_document(cls, version) for cls in having], indent=2))
    else:
        for place, cls in enumerate(having):
            print("\n" * (place > 0) + "\n".join(_pages(cls, version, paint)))
    return 0


def _print_list(dialect: str | None, version: int | None, output: str, paint: Paint) -> None:
    listed = [cls for cls in every(dialect) if version is None or version in cls.versions]
    if output == "json":
        print(json_text([_facts(cls) for cls in listed], indent=2))
        return
    columns = [
        Column("key", number=True),
        Column("message"),
        Column("kind"),
        Column("versions"),
        Column("flexible"),
        Column("dialects"),
    ]
    rows = []
    for cls in listed:
        facts = _facts(cls)
        key = "" if facts["key"] is None else str(facts["key"])
        dialects = ", ".join(facts["dialects"])
        rows.append([key, facts["name"], facts["kind"], facts["versions"], facts["flexible"] or "", dialects])
    print_table(columns, rows, paint)


def _facts(cls: type[Message]) -> dict[str, Any]:
    facts = describe(cls)
    return {
        "name": facts.name,
        "key": None if facts.kind == "header" else facts.api_key,
        "kind": facts.kind,
        "versions": str(facts.versions),
        "flexible": str(facts.flexible) if facts.flexible else None,
        "dialects": list(facts.dialects),
    }


def _document(cls: type[Message], version: int | None) -> dict[str, Any]:
    fields = [_field_document(each) for each in documented(cls, version)]
    return {**_facts(cls), "text": docstring(cls), "fields": fields}


def _field_document(each: Documented) -> dict[str, Any]:
    f = each.field
    found: dict[str, Any] = {"name": f.name, "json_name": f.json_name, "type": each.type, "versions": each.versions}
    if each.default:
        found["default"] = each.default
    if f.tag is not None:
        found["tag"] = f.tag
    if f.nullable_since:
        found["nullable_since"] = f.nullable_since
    found |= {"ignorable": f.ignorable, "text": each.text}
    if each.inside:
        found["fields"] = [_field_document(inner) for inner in each.inside]
    return found


def _pages(cls: type[Message], version: int | None, paint: Paint) -> Iterator[str]:
    """A message for a person: what it is for, then a line or more for each field."""
    facts = _facts(cls)
    key = "" if facts["key"] is None else f"key {facts['key']}, "
    flexible = f", flexible {facts['flexible']}" if facts["flexible"] else ""
    about = f"{key}{facts['kind']}, versions {facts['versions']}{flexible}, dialect {', '.join(facts['dialects'])}"
    yield paint("title", facts["name"]) + paint("quiet", f": {about}")
    width = shutil.get_terminal_size((WIDTH_ELSEWHERE, 0)).columns if sys.stdout.isatty() else WIDTH_ELSEWHERE
    for paragraph in docstring(cls).split("\n\n"):
        yield from textwrap.wrap(paragraph, width)
    rows = list(_rows(documented(cls, version), 0))
    if not rows:
        yield "It has no fields."
        return
    yield ""
    yield from _field_lines(rows, width, paint)


def _field_lines(rows: list[_Row], width: int, paint: Paint) -> Iterator[str]:
    titles = ("field", "type", "versions", "default")
    widths = [max(len(title), *(len(row[place]) for row in rows)) for place, title in enumerate(titles)]
    text_at = sum(widths) + len(GAP) * len(widths)
    has_room = width - text_at >= NARROWEST_TEXT
    meaning = ("meaning",) if has_room else ()
    yield paint(
        "title", GAP.join(f"{title:{size}}" for title, size in zip((*titles, *meaning), (*widths, 0), strict=False))
    )
    for *cells, text in rows:
        name, spelled, *rest = (f"{cell:{size}}" for cell, size in zip(cells, widths, strict=True))
        facts = GAP.join((name, paint("type", spelled), *rest))
        if has_room:
            first, *more = textwrap.wrap(text, width - text_at) or [""]
            yield f"{facts}{GAP}{first}".rstrip()
            yield from (" " * text_at + line for line in more)
        else:
            yield facts.rstrip()
            yield from textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")


def _rows(found: list[Documented], depth: int) -> Iterator[_Row]:
    for each in found:
        text = " ".join(each.text.split())
        if each.remarks:
            text = f"({', '.join(each.remarks)}) {text}"
        yield "  " * depth + each.field.name, each.type, each.versions, each.default, text
        yield from _rows(each.inside, depth + 1)
