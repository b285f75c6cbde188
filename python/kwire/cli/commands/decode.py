"""``kwire decode``: bytes to JSON, tables, or an annotated hex dump.

Rules of this file: one frame in, one document out; lines in, lines out; a list in, a list out. What is wrong with a
frame of many stands in its place in the output and is counted at the end; the fault of a single one is explained.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import click

import kwire
from kwire.cli.captures import Expected, captured
from kwire.cli.colors import Choice, Paint, paint_for
from kwire.cli.options import chosen_message, colour, input_words, which_message, whole_frames
from kwire.cli.program import EXIT_WRONG_INPUT
from kwire.cli.records import error_record, json_text, record
from kwire.cli.sources import open_source
from kwire.cli.summary import Tally

if TYPE_CHECKING:
    from kwire.cli.captures import Capture
    from kwire.cli.frames import Frame, FrameKind
    from kwire.cli.sources import Content


class Wish(NamedTuple):
    """How the output is wanted."""

    dialect: str
    paint: Paint
    everything: bool


@click.command()
@which_message
@whole_frames
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "table", "hexdump"]),
    default="json",
    show_default=True,
    help="JSON is for programs; a hex dump says which bytes are which field.",
)
@click.option("-a", "--all", "everything", is_flag=True, help="Leave nothing out of a hex dump.")
@click.option("--skip-unknown", is_flag=True, help="Pass over frames of messages and versions not declared here.")
@input_words
@colour
def decode(
    words: tuple[str, ...],
    content: Content | None,
    message: str | None,
    version: int | None,
    dialect: str,
    kind: FrameKind | None,
    sized: bool,
    output: str,
    everything: bool,
    skip_unknown: bool,
    color: Choice,
) -> int:
    """Bytes to JSON, tables, or an annotated hex dump.

    A body needs --message and --version. A whole request (--request) says what it is in its header; a whole response
    (--response) needs message and version of what was asked. JSON is read one frame a document: hex in a string, or an
    object with request_hex and response_hex, api_key and api_version, or with hex, message and version.

    \b
    Examples:
      kwire decode -m MetadataResponse -v 13 00000000 01 00 ffffffff 01 0000 00
      kwire decode --request -o hexdump 0012 0003 00000001 0002 6d65 00 026b 0231 00
      kwire decode --response -m Metadata -v 12 answer.bin
      kwire decode capture.jsonl.xz | jq -c 'select(.error)'
      ssh broker cat capture.jsonl | kwire decode -o table -
    """  # noqa: D301  # \b is click's mark
    if kind == "request" and (message is not None or version is not None):
        raise click.UsageError(
            "--request reads message and version from the header: leave out --message and --version."
        )
    cls, version = chosen_message(message, dialect, version, kind)
    capture = captured(open_source(words), Expected(dialect, kind, cls, version), content, sized=sized)
    wish = Wish(dialect, paint_for(sys.stdout, color), everything)
    if capture.shape == "one":
        [frame] = capture.frames
        return _print_one(frame, output, wish, color)
    tally = Tally(skip_unknown=skip_unknown)
    _print_each(capture, tally, output, wish)
    return tally.report()


def _print_one(frame: Frame, output: str, wish: Wish, color: Choice) -> int:
    if output == "hexdump":
        _print_dump(frame, wish)
    elif frame.problem is None:
        if output == "table":
            _print_tables(frame, wish)
        else:
            document = record(frame)
            print(json_text(document["body"] if frame.kind == "body" else document, indent=2))
    elif output == "json" and not sys.stdout.isatty():
        print(json_text({"error": error_record(frame.problem)}, indent=2))
    if frame.problem is None:
        return 0
    from kwire.cli.error_rendering import fault_text

    sys.stdout.flush()
    print(fault_text(frame, paint_for(sys.stderr, color)), file=sys.stderr)
    return EXIT_WRONG_INPUT


def _print_each(capture: Capture, tally: Tally, output: str, wish: Wish) -> None:
    frames = tally.counted(capture.frames)
    if output == "hexdump":
        for number, frame in enumerate(frames):
            print("\n" * (number > 0) + wish.paint("title", f"=== {_heading(frame)}"))
            _print_dump(frame, wish)
    elif output == "table":
        print(_row("frame", "kind", "message", "version", "bytes", "result"))
        for frame in frames:
            print(_summary(frame), flush=True)
    elif capture.shape == "list":
        separator = "[\n"
        for frame in frames:
            print(separator + json_text(record(frame)), end="")
            separator = ",\n"
        print("\n]" if separator != "[\n" else "[]")
    else:
        for frame in frames:
            # At once: the input may be a connection that somebody watches.
            print(json_text(record(frame)), flush=True)


def _print_dump(frame: Frame, wish: Wish) -> None:
    from kwire.cli.hexdump import hexdump

    for line in hexdump(frame, wish.dialect, wish.paint, everything=wish.everything):
        print(line)
    if not frame.parts:
        print(wish.paint("fault", str(frame.problem)))


def _print_tables(frame: Frame, wish: Wish) -> None:
    from kwire.cli.field_tables import field_tables
    from kwire.cli.tables import print_table

    first = True
    for part in frame.parts:
        message = kwire.decode(part.cls, part.data, version=part.version)
        for title, columns, rows in field_tables(message, part.version, wish.dialect):
            print(("" if first else "\n") + wish.paint("title", title), flush=True)
            print_table(columns, rows, wish.paint)
            first = False


def _heading(frame: Frame) -> str:
    where = ", ".join(f"{name} {number}" for name, number in frame.where.items())
    problem = f": {frame.problem}" if frame.problem else ""
    return f"{where}, {frame.kind}{problem}"


def _summary(frame: Frame) -> str:
    """A frame in a line of the table of many."""
    where = " ".join(str(number) for number in frame.where.values())
    body = frame.body
    name, version = (body.cls.__name__, str(body.version)) if body else ("", "")
    result = str(frame.problem) if frame.problem else "ok"
    return _row(where, frame.kind, name, version, str(len(frame.payload)), result)


def _row(where: str, kind: str, name: str, version: str, size: str, result: str) -> str:
    """In columns of fixed width: rows are printed before the later ones are known."""
    return f"{where:>6}  {kind:8}  {name:38}  {version:>7}  {size:>7}  {result}"
