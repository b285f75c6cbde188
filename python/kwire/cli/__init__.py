"""The command ``kwire``: looks into bytes that somebody captured, and makes bytes for somebody to send.

Rules of this package: results go to stdout, everything else to stderr. What a program may want to read comes as JSON.
Input that may be large is read piece by piece. click is imported when the command runs, rich when a table meets a
terminal; neither ever by ``import kwire``. A module of ``commands`` is imported when its command is called.

    program             the list of commands, and how a run ends
    options             what several commands ask
    sources             arguments, files and pipes: which bytes, and are they hex, binary or JSON
    captures, frames    bytes to frames, frames to headers and bodies
    names               look-up of messages, with a proposal for a name that does not exist
    records             a frame as JSON and back
    hexdump, labels     which bytes are which field, and what a number means
    faults              an error with the bytes around it
    tables, colours     what people see
    documentation       what the declarations say of themselves
    plan_tree           a plan, indented

Exit codes: 0 all went well, 1 some of the input was wrong, 2 wrong usage, 130 interrupted, 141 the reader went away.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command and end the process."""
    try:
        from kwire.cli.program import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(f"Error: the command line needs {error.name}; install it by: pip install 'kwire[cli]'", file=sys.stderr)
        code = 2
    sys.exit(code)
