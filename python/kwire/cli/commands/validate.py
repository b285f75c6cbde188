"""`kwire validate`: count the valid and invalid frames of a capture, without creating message objects."""

from __future__ import annotations

import sys

import click

from kwire._util.light_typing import TYPE_CHECKING
from kwire.cli.error_rendering import render_error
from kwire.cli.frame_input import FrameSelection
from kwire.cli.frame_json import json_text
from kwire.cli.message_options import frame_options, input_options, message_options
from kwire.cli.summary import FrameCounts
from kwire.terminal.colors import paint_for
from kwire.terminal.options import gathered, output_option

if TYPE_CHECKING:
    from kwire.cli.frames import Frame


@click.command()
@message_options
@frame_options
@output_option(["text", "json"], "Print the counts in this format.")
@click.option("-q", "--quiet", is_flag=True, help="Print the counts only, not the errors.")
@click.option("--skip-unknown", is_flag=True, help="Skip frames of unknown messages and versions.")
@input_options
@gathered(selection=FrameSelection)
def validate(selection: FrameSelection, output: str, quiet: bool, skip_unknown: bool) -> int:
    """Check bytes without printing them, and count the valid and invalid frames.

    The input is the same as for `kwire decode`. The counts go to stdout, a line for each invalid frame to stderr; a
    single invalid frame is shown with the malformed bytes.

    \b
    Examples:
      kwire validate frames.jsonl.xz
      kwire validate --sized --request requests.bin
      kwire validate -m MetadataResponse -v 13 -q body.bin && echo valid
    """
    frames = selection.read()
    counts = FrameCounts(skip_unknown=skip_unknown)
    for frame in counts.count(frames.frames):
        if frame.error is not None and not quiet:
            _print_error(frame, in_full=frames.shape == "one")
    if output == "json":
        print(json_text({"ok": counts.valid, "wrong": counts.invalid, "unknown": counts.unknown}))
    else:
        print(counts)
    return counts.exit_code


def _print_error(frame: Frame, *, in_full: bool) -> None:
    paint = paint_for(sys.stderr)
    if in_full:
        print(render_error(frame, paint), file=sys.stderr)
        return
    position = ", ".join(f"{name} {number}" for name, number in frame.position.items())
    title = f" {frame.body.title}" if frame.body else ""
    print(f"{position}, {frame.kind}{title}: {frame.error}", file=sys.stderr)
