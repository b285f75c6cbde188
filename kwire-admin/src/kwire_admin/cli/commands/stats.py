"""`kafka stats`: the statement of the shell."""

from __future__ import annotations

from kwire_admin.cli.commands.shell import statement_command

stats = statement_command(
    "stats",
    """Draw how far groups are behind, again and again.

    It is the statement of `kafka shell`: `kafka help shell`.

    \b
    Examples:
      kafka stats orders -b localhost:9092
      kafka stats --group billing --count 2 -b localhost:9092
    """,
)
