"""`kwire decode`: decode bytes to JSON, tables, or an annotated hex dump.

The output has the shape of the input: one document, one document per line, or a list. With many frames, the error of an
invalid frame takes its place in the output and is counted at the end; the error of a single frame is explained.
"""

from __future__ import annotations

import sys

import click

import kwire
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.cli.entry import EXIT_INVALID_INPUT
from kwire.cli.frame_input import FrameSelection
from kwire.cli.frame_json import error_document, frame_document, json_text
from kwire.cli.message_options import frame_options, input_options, message_options
from kwire.cli.summary import FrameCounts
from kwire.terminal.colors import Paint, paint_for
from kwire.terminal.options import color_option, gathered, output_option

if TYPE_CHECKING:
    from kwire.cli.frame_input import FrameInput
    from kwire.cli.frames import Frame
    from kwire.terminal.colors import Choice


class OutputOptions(NamedTuple):
    """The dialect that names values, the colors, and whether long arrays and values are shown in full."""

    dialect: str
    paint: Paint
    everything: bool


@click.command()
@message_options
@frame_options
@output_option(["json", "table", "hexdump"], "Print JSON for programs, tables, or the bytes of each field.")
@click.option("-a", "--all", "everything", is_flag=True, help="Show long arrays and values of a hex dump in full.")
@click.option("--skip-unknown", is_flag=True, help="Skip frames of unknown messages and versions.")
@input_options
@color_option
@gathered(selection=FrameSelection)
def decode(
    selection: FrameSelection,
    output: str,
    everything: bool,
    skip_unknown: bool,
    color: Choice,
) -> int:
    """Decode bytes to JSON, tables, or an annotated hex dump.

    INPUT is hex, JSON, the name of a file (.xz and .gz are decompressed), or - for stdin.

    A body needs --message and --version. Values of records and data of groups, such as OffsetCommitValue, begin with
    their version if --version is not given. The header of a request (--request) names its message and version; a
    response (--response) needs the message and version of its request. A document of JSON input is hex in a string, an
    object with hex, message, and version, or an object with request_hex, response_hex, api_key, and api_version.

    \b
    Examples:
      kwire decode -m MetadataResponse -v 13 00000000 01 00 ffffffff 01 0000 00
      kwire decode --request -o hexdump 0012 0003 00000001 0002 6d65 00 026b 0231 00
      kwire decode --response -m Metadata -v 12 response.bin
      kwire decode -m OffsetCommitValue 0003 000000000000002a ffffffff 0000 0000000000000000
      kwire decode frames.jsonl.xz | jq -c 'select(.error)'
      ssh broker cat frames.jsonl | kwire decode -o table -
    """
    frames = selection.read()
    options = OutputOptions(selection.dialect, paint_for(sys.stdout, color), everything)
    if frames.shape == "one":
        [frame] = frames.frames
        return _print_one(frame, output, options, color)
    counts = FrameCounts(skip_unknown=skip_unknown)
    _print_each(frames, counts, output, options)
    return counts.report()


def _print_one(frame: Frame, output: str, options: OutputOptions, color: Choice) -> int:
    if output == "hexdump":
        _print_dump(frame, options)
    elif frame.error is None:
        if output == "table":
            _print_tables(frame, options)
        else:
            document = frame_document(frame)
            print(json_text(document["body"] if frame.kind == "body" else document, indent=2))
    elif output == "json" and not sys.stdout.isatty():
        print(json_text({"error": error_document(frame.error)}, indent=2))
    if frame.error is None:
        return 0
    from kwire.cli.error_rendering import render_error

    sys.stdout.flush()
    print(render_error(frame, paint_for(sys.stderr, color)), file=sys.stderr)
    return EXIT_INVALID_INPUT


def _print_each(source: FrameInput, counts: FrameCounts, output: str, options: OutputOptions) -> None:
    frames = counts.count(source.frames)
    if output == "hexdump":
        for number, frame in enumerate(frames):
            print("\n" * (number > 0) + options.paint("title", f"=== {_heading(frame)}"))
            _print_dump(frame, options)
    elif output == "table":
        print(_row("frame", "kind", "message", "version", "bytes", "result"))
        for frame in frames:
            print(_summary(frame), flush=True)
    elif source.shape == "list":
        separator = "[\n"
        for frame in frames:
            print(separator + json_text(frame_document(frame)), end="")
            separator = ",\n"
        print("\n]" if separator != "[\n" else "[]")
    else:
        for frame in frames:
            # The input may be a live connection.
            print(json_text(frame_document(frame)), flush=True)


def _print_dump(frame: Frame, options: OutputOptions) -> None:
    from kwire.cli.hexdump import hexdump

    for line in hexdump(frame, options.dialect, options.paint, everything=options.everything):
        print(line)
    if not frame.parts:
        print(options.paint("error", str(frame.error)))


def _print_tables(frame: Frame, options: OutputOptions) -> None:
    from kwire.cli.field_tables import field_tables
    from kwire.terminal.tables import print_table

    first = True
    for part in frame.parts:
        message = kwire.decode(part.cls, part.data, version=part.version)
        for title, columns, rows in field_tables(message, part.version, options.dialect):
            print(("" if first else "\n") + options.paint("title", title), flush=True)
            print_table(columns, rows, options.paint)
            first = False


def _heading(frame: Frame) -> str:
    position = ", ".join(f"{name} {number}" for name, number in frame.position.items())
    error = f": {frame.error}" if frame.error else ""
    return f"{position}, {frame.kind}{error}"


def _summary(frame: Frame) -> str:
    """Return the row of a frame in the table of many frames."""
    position = " ".join(str(number) for number in frame.position.values())
    body = frame.body
    name, version = (body.cls.__name__, str(body.version)) if body else ("", "")
    result = str(frame.error) if frame.error else "ok"
    return _row(position, frame.kind, name, version, str(len(frame.payload)), result)


def _row(position: str, kind: str, name: str, version: str, size: str, result: str) -> str:
    """Format a row with fixed widths: rows are printed before the later ones are read."""
    return f"{position:>6}  {kind:8}  {name:38}  {version:>7}  {size:>7}  {result}"
