"""The `kwire` command.

* Results go to stdout, everything else to stderr. Output for programs is JSON.
* Large input is read piece by piece.
* `import kwire` imports neither click nor rich. A module of `commands` is imported when its command runs, rich when a
  table is printed to a terminal.

Exit codes: 0 success, 1 some of the input is invalid, 2 wrong usage, 130 interrupted, 141 stdout was closed.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType, TracebackType
    from typing import Any


def main(run: Callable[[Sequence[str]], int] | None = None) -> None:
    """Run the command and exit the process.

    Args:
        run: runs the words of the command line and returns the exit code; None for the commands of `kwire`, and those
            of other products if they are installed.
    """
    gc.disable()  # while modules are imported: what they create stays
    _import_uuid()
    if "--debug" not in sys.argv:
        sys.excepthook = _print_unexpected
    try:
        code = (run or _run)(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except ModuleNotFoundError as error:
        from kwire._util.products import install_hint

        hint = install_hint(error)
        if error.name in ("click", "prompt_toolkit", "rich"):  # also if the package has no metadata
            hint = f"the command line needs {error.name}: pip install 'kwire[cli]'"
        if hint is None:
            raise
        print(f"Error: {hint}", file=sys.stderr)
        code = 2
    _exit(code)


def _import_uuid() -> None:
    """Import `uuid` without `platform` on Linux, as Python does from 3.13 on.

    Before, `uuid` asked `platform` for the name of the system, whose import compiles patterns and takes as long as all
    messages of a small command. No other thread runs yet that could import `platform` at the same time.
    """
    if sys.version_info >= (3, 13) or sys.platform != "linux" or not {"platform", "uuid"}.isdisjoint(sys.modules):
        return
    stand_in: Any = type(sys)("platform")
    stand_in.system = lambda: "Linux"
    sys.modules["platform"] = stand_in
    try:
        import uuid
    finally:
        del sys.modules["platform"]
    vars(uuid).pop("platform", None)


def _run(words: Sequence[str]) -> int:
    """Run a command of this package, or the program with the commands of all products, if it is installed."""
    if not (words and words[0].startswith("__")):  # completion in a shell, which must not import click
        from kwire.cli.program import is_own, run

        if words and is_own(words[0]):
            return run(words)
    from kwire._util.products import find_part

    whole = find_part("program")
    if whole is not None:
        return int(whole(words))
    from kwire.cli.program import run

    return run(words)


def _exit(code: int) -> None:
    """Exit the process, without freeing each object before if nothing else is left to do at the exit.

    That takes 3 ms, a tenth of a small command. Commands that use click, and tools, may have files, threads, or
    functions of `atexit` that the interpreter has to end.
    """
    import atexit

    threading = sys.modules.get("threading")
    is_alone = threading is None or threading.active_count() == 1
    if is_alone and sys.modules.keys().isdisjoint(("asyncio", "click")) and _registered_functions(atexit) == 0:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            sys.exit(code)  # reports what cannot be written
        os._exit(code)
    sys.exit(code)


def _registered_functions(atexit: ModuleType) -> int | None:
    """Return the number of functions that are called at the exit; None if the interpreter does not tell."""
    count: Callable[[], int] | None = getattr(atexit, "_ncallbacks", None)
    return None if count is None else count()


def _print_unexpected(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Print one sentence instead of a traceback."""
    del traceback
    print(
        f"Error: unexpected {kind.__name__}: {error}\nThis is a bug of kwire: please report what kwire --debug prints.",
        file=sys.stderr,
    )
