"""Print the requirements of extras of kwire, one a line, for `pip install --requirement`.

    python -m scripts.requirements EXTRA...

Pip looks an extra up in the metadata of kwire. With this list it installs everything else while the engine is built.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def requirements(*extras: str) -> list[str]:
    """Return the requirements of extras, and of the extras that these name."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["optional-dependencies"]
    required: list[str] = []
    for extra in extras:
        for requirement in declared[extra]:
            if requirement.startswith("kwire["):
                required += requirements(*requirement.removeprefix("kwire[").removesuffix("]").split(","))
            elif requirement != "kwire-cli":  # in this repository
                required.append(requirement)
    return list(dict.fromkeys(required))


if __name__ == "__main__":
    sys.stdout.writelines(f"{requirement}\n" for requirement in requirements(*sys.argv[1:]))
