"""`kwire messages`: list all messages, or the fields of one message."""

from __future__ import annotations

import shutil
import sys
import textwrap

import click

from kwire._util.light_typing import TYPE_CHECKING, Any, TypeAlias
from kwire.cli.field_documentation import documented_fields
from kwire.cli.frame_json import json_text
from kwire.cli.message_names import DIALECTS
from kwire.cli.message_options import named_messages
from kwire.declare.documentation import docstring
from kwire.declare.introspect import describe
from kwire.messages import every
from kwire.terminal.colors import paint_for
from kwire.terminal.options import color_option, output_option
from kwire.terminal.parameter_types import Named
from kwire.terminal.tables import GAP, TableColumn, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.cli.field_documentation import DocumentedField
    from kwire.declare import Message
    from kwire.terminal.colors import Choice, Paint

_Row: TypeAlias = tuple[str, str, str, str, str]
"""Name, type, versions, default, and text of a field."""

DEFAULT_WIDTH = 120
"""Width of the output if it is not a terminal."""
MIN_TEXT_WIDTH = 30


@click.command()
@click.argument("name", required=False, type=Named("messages"))
@click.option("-d", "--dialect", type=click.Choice(DIALECTS), help="Show only messages of this dialect.")
@click.option("-v", "--version", type=int, metavar="N", help="Show only messages and fields of this version.")
@output_option(["table", "json"], "Print the messages or fields in this format.")
@color_option
def messages(name: str | None, dialect: str | None, version: int | None, output: str, color: Choice) -> int:
    """List all messages, or the fields of one message.

    NAME is a message, or an API for its request and its response.

    \b
    Examples:
      kwire messages
      kwire messages --dialect kip4
      kwire messages MetadataResponse --version 12
      kwire messages -o json | jq -r '.[] | select(.flexible) | .name'
    """
    paint = paint_for(sys.stdout, color)
    if name is None:
        _print_list(dialect, version, output, paint)
        return 0
    matching = named_messages(name, dialect or "kafka", version)
    if output == "json":
        print(json_text([_document(cls, version) for cls in matching], indent=2))
    else:
        for index, cls in enumerate(matching):
            print("\n" * (index > 0) + "\n".join(_pages(cls, version, paint)))
    return 0


def _print_list(dialect: str | None, version: int | None, output: str, paint: Paint) -> None:
    listed = [cls for cls in every(dialect) if version is None or version in cls.versions]
    if output == "json":
        print(json_text([_facts(cls) for cls in listed], indent=2))
        return
    columns = [
        TableColumn("key", number=True),
        TableColumn("message"),
        TableColumn("kind"),
        TableColumn("versions"),
        TableColumn("flexible"),
        TableColumn("dialects"),
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
        "key": facts.api_key if facts.api_key >= 0 else None,
        "kind": facts.kind,
        "versions": str(facts.versions),
        "flexible": str(facts.flexible) if facts.flexible else None,
        "dialects": list(facts.dialects),
    }


def _document(cls: type[Message], version: int | None) -> dict[str, Any]:
    fields = [_field_document(documented_field) for documented_field in documented_fields(cls, version)]
    return {**_facts(cls), "text": docstring(cls), "fields": fields}


def _field_document(documented: DocumentedField) -> dict[str, Any]:
    f = documented.field
    document: dict[str, Any] = {
        "name": f.name,
        "json_name": f.json_name,
        "type": documented.type,
        "versions": documented.versions,
    }
    if documented.default:
        document["default"] = documented.default
    if f.tag is not None:
        document["tag"] = f.tag
    if f.nullable_since:
        document["nullable_since"] = f.nullable_since
    document |= {"ignorable": f.ignorable, "text": documented.text}
    if documented.inner:
        document["fields"] = [_field_document(inner) for inner in documented.inner]
    return document


def _pages(cls: type[Message], version: int | None, paint: Paint) -> Iterator[str]:
    """Yield the text of a message and the lines of its fields."""
    facts = _facts(cls)
    key = "" if facts["key"] is None else f"key {facts['key']}, "
    flexible = f", flexible {facts['flexible']}" if facts["flexible"] else ""
    about = f"{key}{facts['kind']}, versions {facts['versions']}{flexible}, dialect {', '.join(facts['dialects'])}"
    yield paint("title", facts["name"]) + paint("quiet", f": {about}")
    width = shutil.get_terminal_size((DEFAULT_WIDTH, 0)).columns if sys.stdout.isatty() else DEFAULT_WIDTH
    for paragraph in docstring(cls).split("\n\n"):
        yield from textwrap.wrap(paragraph, width)
    rows = list(_rows(documented_fields(cls, version), 0))
    if not rows:
        yield "This message has no fields."
        return
    yield ""
    yield from _field_lines(rows, width, paint)


def _field_lines(rows: list[_Row], width: int, paint: Paint) -> Iterator[str]:
    titles = ("field", "type", "versions", "default")
    widths = [max(len(title), *(len(row[index]) for row in rows)) for index, title in enumerate(titles)]
    text_at = sum(widths) + len(GAP) * len(widths)
    has_room = width - text_at >= MIN_TEXT_WIDTH
    meaning = ("meaning",) if has_room else ()
    yield paint(
        "title", GAP.join(f"{title:{size}}" for title, size in zip((*titles, *meaning), (*widths, 0), strict=False))
    )
    for *cells, text in rows:
        name, field_type, *rest = (f"{cell:{size}}" for cell, size in zip(cells, widths, strict=True))
        facts = GAP.join((name, paint("type", field_type), *rest))
        if has_room:
            first, *more = textwrap.wrap(text, width - text_at) or [""]
            yield f"{facts}{GAP}{first}".rstrip()
            yield from (" " * text_at + line for line in more)
        else:
            yield facts.rstrip()
            yield from textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")


def _rows(fields: list[DocumentedField], depth: int) -> Iterator[_Row]:
    for field in fields:
        text = " ".join(field.text.split())
        if field.remarks:
            text = f"({', '.join(field.remarks)}) {text}"
        yield "  " * depth + field.field.name, field.type, field.versions, field.default, text
        yield from _rows(field.inner, depth + 1)
