"""`kafka describe`: the statement of the shell."""

from __future__ import annotations

from kwire_admin.cli.commands.shell import statement_command

describe = statement_command(
    "describe",
    """Describe topics with their partitions and configs: topics describe.

    It is the statement of `kafka shell`: `kafka help shell`.

    \b
    Examples:
      kafka describe orders -b localhost:9092
      kafka describe --only offline -b localhost:9092
    """,
)
