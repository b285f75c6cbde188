"""The `kwire` command.

* Results go to stdout, everything else to stderr. Output for programs is JSON.
* Large input is read piece by piece.
* `import kwire` imports neither click nor rich. A module of `commands` is imported when its command runs, rich when a
  table is printed to a terminal.

Exit codes: 0 success, 1 some of the input is invalid, 2 wrong usage, 130 interrupted, 141 stdout was closed.
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType


def main() -> None:
    """Run the command and exit the process."""
    gc.disable()  # while modules are imported: what they create stays
    if "--debug" not in sys.argv:
        sys.excepthook = _print_unexpected
    try:
        code = _function()(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except ModuleNotFoundError as error:
        from kwire._util.extras import install_hint

        hint = install_hint(error)
        if error.name in ("click", "prompt_toolkit", "rich"):  # also if the package has no metadata
            hint = f"the command line needs {error.name}: pip install 'kwire[cli]'"
        if hint is None:
            raise
        print(f"Error: {hint}", file=sys.stderr)
        code = 2
    sys.exit(code)


def _function() -> Callable[[Sequence[str]], int]:
    """Return the function that runs the arguments. Completion in a shell must not import the rest."""
    if sys.argv[1:2] == ["__complete"]:
        from kwire.cli.completion.completer import complete

        return lambda arguments: complete(arguments[1:])
    if sys.argv[1:2] == ["__fetch"]:
        from kwire.cli.completion.refresh import fetch

        return lambda arguments: fetch(arguments[1:])
    from kwire.cli.program import run

    return run


def _print_unexpected(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Print one sentence instead of a traceback."""
    del traceback
    print(
        f"Error: unexpected {kind.__name__}: {error}\nThis is a bug of kwire: please report what kwire --debug prints.",
        file=sys.stderr,
    )
