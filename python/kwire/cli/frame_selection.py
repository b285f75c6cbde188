"""The frames that a command reads: the values of its message, frame, and input options."""

from __future__ import annotations

import click

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.cli.frame_input import Expected, read_frames
from kwire.cli.input_sources import open_source
from kwire.cli.message_options import resolve_message

if TYPE_CHECKING:
    from kwire.cli.frame_input import FrameInput
    from kwire.cli.frames import FrameKind
    from kwire.cli.input_sources import InputFormat

__all__ = ["FrameSelection"]


class FrameSelection(NamedTuple):
    """The values of `message_options`, `frame_options`, and `input_options`.

    Attributes:
        words: the input: hex, JSON, the name of a file, or `-` for stdin.
        input_format: the format of the input; None to detect it.
        message: the name of the message; None if headers or documents name it.
        version: its version; None as above.
        dialect: the dialect of the messages.
        kind: requests, responses, or bodies; None for bodies.
        sized: true if a size of four bytes precedes each frame.
    """

    words: tuple[str, ...]
    input_format: InputFormat | None
    message: str | None
    version: int | None
    dialect: str
    kind: FrameKind | None
    sized: bool

    def read(self) -> FrameInput:
        """Read the frames.

        Raises:
            click.UsageError: options exclude each other, or the message does not exist.
        """
        if self.kind == "request" and (self.message is not None or self.version is not None):
            raise click.UsageError(
                "--request cannot be combined with --message and --version: the header names message and version"
            )
        cls, version = resolve_message(self.message, self.dialect, self.version, self.kind)
        expected = Expected(self.dialect, self.kind, cls, version)
        return read_frames(open_source(self.words), expected, self.input_format, sized=self.sized)
