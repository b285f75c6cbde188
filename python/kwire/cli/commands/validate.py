"""``kwire validate``: which frames of a capture are right, and what is wrong with the others. No objects are made."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kwire.cli.captures import Expected, captured
from kwire.cli.colors import paint_for
from kwire.cli.error_rendering import fault_text
from kwire.cli.options import chosen_message, input_words, which_message, whole_frames
from kwire.cli.records import json_text
from kwire.cli.sources import open_source
from kwire.cli.summary import Tally

if TYPE_CHECKING:
    from kwire.cli.frames import Frame, FrameKind
    from kwire.cli.sources import Content


@click.command()
@which_message
@whole_frames
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the counts."
)
@click.option("-q", "--quiet", is_flag=True, help="Only count: do not say what is wrong.")
@click.option("--skip-unknown", is_flag=True, help="Messages and versions not declared here are no errors.")
@input_words
def validate(
    words: tuple[str, ...],
    content: Content | None,
    message: str | None,
    version: int | None,
    dialect: str,
    kind: FrameKind | None,
    sized: bool,
    output: str,
    quiet: bool,
    skip_unknown: bool,
) -> int:
    """Count which frames of a capture are right and which are wrong.

    Takes what `kwire decode` takes. The counts go to stdout, a sentence for each wrong frame to stderr; where there is
    only one frame, with the bytes around the fault.

    \b
    Examples:
      kwire validate capture.jsonl.xz
      kwire validate --sized --request requests.bin
      kwire validate -m MetadataResponse -v 13 -q body.bin && echo fine
    """  # noqa: D301  # \b is click's mark
    if kind == "request" and (message is not None or version is not None):
        raise click.UsageError(
            "--request reads message and version from the header: leave out --message and --version."
        )
    cls, version = chosen_message(message, dialect, version, kind)
    capture = captured(open_source(words), Expected(dialect, kind, cls, version), content, sized=sized)
    tally = Tally(skip_unknown=skip_unknown)
    for frame in tally.counted(capture.frames):
        if frame.problem is not None and not quiet:
            _complain(frame, in_full=capture.shape == "one")
    if output == "json":
        print(json_text({"ok": tally.right, "wrong": tally.wrong, "unknown": tally.unknown}))
    else:
        print(tally)
    return tally.exit_code


def _complain(frame: Frame, *, in_full: bool) -> None:
    paint = paint_for(sys.stderr)
    if in_full:
        print(fault_text(frame, paint), file=sys.stderr)
        return
    where = ", ".join(f"{name} {number}" for name, number in frame.where.items())
    title = f" {frame.body.title}" if frame.body else ""
    print(f"{where}, {frame.kind}{title}: {frame.problem}", file=sys.stderr)
