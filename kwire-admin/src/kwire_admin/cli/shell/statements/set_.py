"""`set topic_security['pci','profile','dss'] = true`: a config of the cluster, or of the topic in use."""

from __future__ import annotations

import click

from kwire_admin.cli.shell.session import shell_session
from kwire_admin.cli.shell.statement_group import run_words


@click.command("set", context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("key", metavar="KEY")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="= VALUE")
def set_(key: str, words: tuple[str, ...]) -> int:
    """Set a config of the topic in use, or else of all brokers: configs set.

    KEY may have an index, as in set topic_security['pci','profile','dss'] = true.
    """
    if words[:1] != ("=",):
        raise click.UsageError(f"expected = after '{key}'")
    if len(words) != 2:
        given = f"'{words[2]}': quote a value with blanks" if len(words) > 2 else "nothing"
        raise click.UsageError(f"expected one value after =, got {given}")
    topic = shell_session().topic
    resource = "broker/default" if topic is None else f"topic/{topic}"
    return run_words(["configs", "set", "--", resource, f"{key}={words[1]}"])
