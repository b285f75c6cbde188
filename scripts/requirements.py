"""Print the requirements of extras of kwire, one a line, for `pip install --requirement`.

    python -m scripts.requirements EXTRA...

Pip looks an extra up in the metadata of kwire. With this list it installs everything else while the engine is built.
"""

from __future__ import annotations

import re
import sys

from scripts.products import PRODUCTS


def requirements(*extras: str, product: str = "kwire") -> list[str]:
    """Return the requirements of a product with extras, and of the products and extras that these name."""
    project = PRODUCTS[product].project
    optional = project.get("optional-dependencies", {})
    required: list[str] = []
    for requirement in (*project["dependencies"], *(text for extra in extras for text in optional[extra])):
        match = re.match(r"(kwire[\w-]*)(?:\[([\w,-]*)\])?", requirement)
        if match is not None:
            required += requirements(*filter(None, (match[2] or "").split(",")), product=match[1])
        else:
            required.append(requirement)
    return list(dict.fromkeys(required))


if __name__ == "__main__":
    sys.stdout.writelines(f"{requirement}\n" for requirement in requirements(*sys.argv[1:]))
