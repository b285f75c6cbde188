"""Write the tables of options in the documentation, from the commands.

    python -m scripts.option_tables

A table stands between `<!-- options of COMMAND -->` and `<!-- end of the options -->`. A colon after the
command selects options, by their names without hyphens.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from kwire_admin.cli.program import program
from scripts.docs_reference import OPTION_TITLES, option_rows

DOCS = Path(__file__).parents[1] / "docs"
TABLE = re.compile(
    r"(?P<begin><!-- options of (?P<command>[^:>]+?)(?:: (?P<names>[^>]+?))? -->\n)"
    r".*?(?P<end><!-- end of the options -->)",
    flags=re.DOTALL,
)


def main() -> None:
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if current(text) != text:
            page.write_text(current(text), encoding="utf-8")
            print(page)


def current(page: str) -> str:
    """Return the text of a page with current tables."""
    return TABLE.sub(lambda table: table["begin"] + _table(table["command"], table["names"]) + table["end"], page)


def _table(path: str, names: str | None) -> str:
    command, context = _find(path)
    rows = list(option_rows(command, context))
    if names is not None:
        by_name = {name: row for row in rows for name in re.findall(r"`--([a-z-]+)", row.split(" | ")[0])}
        rows = [by_name[name] for name in names.split()]
    return "".join(f"{line}\n" for line in (*OPTION_TITLES, *rows))


def _find(path: str) -> tuple[click.Command, click.Context]:
    """Return the command with a path such as `kwire pipeline ingest`, and its context."""
    command: click.Command = program
    first, *rest = path.split()
    context = click.Context(program, info_name=first)
    for name in rest:
        assert isinstance(command, click.Group)
        inner = command.get_command(context, name)
        assert inner is not None, f"there is no command {path}"
        command, context = inner, click.Context(inner, info_name=name, parent=context)
    return command, context


if __name__ == "__main__":
    main()
