"""`kafka set`: the statement of the shell."""

from __future__ import annotations

from kwire_admin.cli.commands.shell import statement_command

set_ = statement_command(
    "set",
    """Set a config of all brokers: configs set broker/default.

    It is the statement of `kafka shell`: `kafka help shell`.

    \b
    Examples:
      kafka set num.partitions = 9 -b localhost:9092
      kafka set "topic_security['pci']" = true -b localhost:9092
    """,
)
