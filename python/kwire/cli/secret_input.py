"""Secrets that a command reads from a file, stdin, or a prompt, but never from its arguments."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kwire.operations.parameters import InvalidArgument
from kwire.secret import Secret

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_secret"]


def read_secret(name: str, file: Path | None) -> Secret:
    """Return a secret: one line of text.

    Args:
        name: what it is, such as `password`.
        file: where it is; `-` for stdin, None to ask on the terminal.

    Raises:
        InvalidArgument: stdin is not a terminal, or the input is not one line of UTF-8.
    """
    if file is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise InvalidArgument(f"give the {name} with --{name}-file FILE; - is stdin")
        return Secret(click.prompt(name.capitalize(), hide_input=True, confirmation_prompt=True, err=True))
    source = "stdin" if str(file) == "-" else str(file)
    try:
        data = sys.stdin.buffer.read() if source == "stdin" else file.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"cannot read the {name} from {source}: {error.strerror}") from None
    if source != "stdin":
        from kwire.client.security.client_properties import mode_warnings

        for warning in mode_warnings(file):
            print(f"Warning: {warning}", file=sys.stderr)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidArgument(f"the {name} in {source} is not UTF-8") from None
    line = text.removesuffix("\n").removesuffix("\r")
    if not line or "\n" in line:
        raise InvalidArgument(f"{source} does not contain one line with the {name}")
    return Secret(line)
