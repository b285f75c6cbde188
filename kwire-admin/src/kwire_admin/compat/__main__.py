"""`python -m kwire_admin.compat SCRIPT ARGUMENT...` runs a script."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str], release: str | None = None) -> int:
    """Run a script and return its exit code. See `run_script` for the release."""
    from kwire._util.products import BrokenProduct, MissingProduct
    from kwire_admin.compat.registry import SCRIPTS, run_script

    name = arguments[0].removesuffix(".sh") if arguments else ""
    if name not in SCRIPTS:
        print(
            f"usage: python -m kwire_admin.compat SCRIPT ARGUMENT...\nThe scripts are {', '.join(SCRIPTS)}.",
            file=sys.stderr,
        )
        return 1
    try:
        code = run_script(name, arguments[1:], release)
        sys.stdout.flush()
    except (BrokenProduct, MissingProduct) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
