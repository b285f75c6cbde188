"""Hints for people who type what Kafka's scripts or other tools have."""

from __future__ import annotations

import click

__all__ = ["first_word_hint", "with_option_hint"]

NO_CLIENT = "kwire has no producer and no consumer: use kcat, or kafka-console-{}.sh of Kafka"
FIRST_WORDS = {
    "admin": "`kafka help` lists what can be administered",
    "alter": "write the noun first, such as `kafka topics alter` or `kafka configs set`",
    "connect": "kwire does not administer Kafka Connect: use its REST interface",
    "console-consumer": NO_CLIENT.format("consumer"),
    "console-producer": NO_CLIENT.format("producer"),
    "consume": NO_CLIENT.format("consumer"),
    "consumer-groups": "write `kafka groups list`, `kafka groups describe`, or `kafka groups lag`",
    "create": "write the noun first, such as `kafka topics create`",
    "delete": "write the noun first, such as `kafka topics delete`",
    "doctor": "write `kafka cluster health`",
    "get": "write the noun first, such as `kafka topics list`",
    "health": "write `kafka cluster health`",
    "info": "write `kafka cluster describe`",
    "lag": "write `kafka groups lag`",
    "leader-election": "write `kafka elections run`",
    "list": "write the noun first, such as `kafka topics list`",
    "ls": "write the noun first, such as `kafka topics list`",
    "metadata": "write `kafka cluster describe` or `kafka topics describe`",
    "ping": "write `kafka cluster health`",
    "produce": NO_CLIENT.format("producer"),
    "reset-offsets": "write `kafka groups reset-offsets`",
    "status": "write `kafka cluster health`",
    "update": "write the noun first, such as `kafka configs set`",
    "version": "write `kafka --version`",
    "versions": "write `kafka brokers api-versions`",
}
"""Advice by the first word of a command that another tool has."""
OPTIONS = {
    "--all-topics": "leave it out: without --topic, all topics of the group are meant",
    "--alter": "write a verb instead, such as `kafka topics alter`",
    "--bootstrap-server": "write -b HOST:PORT behind the verb, as in `kafka topics list -b HOST:PORT`",
    "--broker-list": "write -b HOST:PORT behind the verb, as in `kafka topics list -b HOST:PORT`",
    "--create": "write a verb instead, such as `kafka topics create`",
    "--delete": "write a verb instead, such as `kafka topics delete`",
    "--describe": "write a verb instead, such as `kafka topics describe`",
    "--execute": "leave it out: --dry-run shows what would be done, and --yes answers the question",
    "--list": "write a verb instead, such as `kafka topics list`",
    "--to-current": "write --to current",
    "--to-datetime": "write --to TIME, such as --to 2026-11-27T08:00:00Z",
    "--to-earliest": "write --to earliest",
    "--to-latest": "write --to latest",
    "--to-offset": "write --to OFFSET, such as --to 42",
}
"""Advice by option of Kafka's scripts."""


def first_word_hint(word: str) -> str | None:
    """Return what to write instead of the first word of a command; None if nothing is known about it."""
    return FIRST_WORDS.get(word.removeprefix("kafka-").removesuffix(".sh")) or FIRST_WORDS.get(word)


def with_option_hint(error: click.NoSuchOption) -> click.NoSuchOption:
    """Return an error with what to write instead of an option of Kafka's scripts."""
    hint = OPTIONS.get(error.option_name)
    if hint is None:
        return error
    return click.NoSuchOption(error.option_name, f"no such option {error.option_name}: {hint}", ctx=error.ctx)
