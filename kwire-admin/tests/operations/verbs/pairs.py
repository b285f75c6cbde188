"""Pairs of verbs that undo each other, and cases with misspelt names, derived from the table of verbs.

A new verb joins without an edit: its name says what it undoes, and its examples say how it is called.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from kwire_admin.operations import registry
from tests.operations.verbs.dry_runs import CHANGING, cases_of, check_case, find_verb_of, parse_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.client.admin import AdminClient
    from kwire_admin.operations.declaration import Operation
    from kwire_admin.operations.parameters import Parameter

OPPOSITES = {
    "add": ("delete", "remove"),
    "create": ("delete", "expire"),
    "execute": ("cancel",),
    "set": ("delete",),
    "upgrade": ("downgrade",),
}
"""First words of verbs that set something, and those of verbs that unset it."""
UNSETTING = frozenset(word for words in OPPOSITES.values() for word in words) | {"abort", "unregister"}
WITHOUT_OPPOSITE = {("partitions", "add"): "no cluster removes partitions"}
"""Verbs that nothing can undo."""
MISSPELLING = "zz"
"""Is appended to names."""


class Pair(NamedTuple):
    """A verb that sets something, and the verb that unsets it."""

    setter: Operation
    unsetter: Operation

    def __str__(self) -> str:
        return f"{self.setter.noun} {self.setter.name} {self.unsetter.name}"


def find(noun: str, name: str) -> Operation:
    verb = registry.find_verb(noun, name)
    assert verb is not None, (noun, name)
    return verb


def pairs() -> list[Pair]:
    """Return all pairs.

    Raises:
        AssertionError: a verb that sets something has no opposite, or several.
    """
    found = []
    for noun, name in CHANGING:
        word, _, rest = name.partition("-")
        if word not in OPPOSITES or (noun, name) in WITHOUT_OPPOSITE:
            continue
        names = {"-".join(filter(None, (opposite, rest))) for opposite in OPPOSITES[word]}
        [opposite] = names.intersection(registry.verb_names(noun))
        found.append(Pair(find(noun, name), find(noun, opposite)))
    return found


def unsetting_cases() -> list[str]:
    """Return runs of verbs that unset something which does not exist: their examples with misspelt names."""
    return [
        case
        for noun, name in CHANGING
        if name.partition("-")[0] in UNSETTING
        for example in find(noun, name).examples
        for case in _misspelt(example, every_text=True)
    ]


def setting_cases() -> list[str]:
    """Return runs of changing verbs with a misspelt key: examples with `KEY=VALUE`, each text misspelt on its own."""
    return [
        case
        for noun, name in CHANGING
        for example in find(noun, name).examples
        for case in _misspelt(example, every_text=False)
    ]


async def check_pairs(admin: AdminClient, topic: str) -> None:
    """Check that nothing says it has unset what does not exist, and that a misspelt key is refused by both of a pair.

    Each case runs dry and real.

    Args:
        topic: a topic that exists, in place of `orders` of the examples.
    """
    for case in cases_of(setting_cases(), admin.dialect):
        real = await check_case(admin, re.sub(r"\borders\b", topic, case), {})
        assert real.is_refused, (case, real)
    for case in cases_of(unsetting_cases(), admin.dialect):
        real = await check_case(admin, re.sub(r"\borders\b", topic, case), {})
        is_unchanged = all(row.get("status", "").startswith("unchanged") for row in real.rows) and real.rows
        assert real.is_refused or real.warnings or is_unchanged, (case, real)


def _misspelt(example: str, *, every_text: bool) -> Iterator[str]:
    """Return an example with each of its texts misspelt, or once for each key of a value.

    Numbers, choices, files, and positions in a log stay: no test cluster has the broker 3 or the voter 4.
    """
    verb = find_verb_of(example)
    words = shlex.split(example)[2:]
    given = parse_case(verb, [*words])  # click empties it
    texts: dict[str, str] = {}
    keys: list[str] = []
    for parameter in verb.parameters:
        values = given[parameter.name] if parameter.many else [given[parameter.name]]
        for text in values if _is_name(parameter) else ():
            if text is not None:
                texts[text] = _misspell(text)
                if "=" in text or (parameter.declared.completes or "").endswith("configs"):
                    keys.append(text)
    if every_text:
        yield _replaced(example, words, texts)
    for key in keys:
        yield _replaced(example, words, {key: texts[key]})


def _is_name(parameter: Parameter) -> bool:
    """Return whether values of a parameter are names, or keys with values."""
    has_key = parameter.declared.syntax is not None and "=" in parameter.declared.syntax.expected
    is_text = parameter.type is str and not parameter.declared.document
    return is_text and (has_key or parameter.declared.completes is not None or parameter.declared.item is not None)


def _misspell(text: str) -> str:
    """Return another name: `topic/orderszz`, `orderszz:0`, `retention.mszz=1`."""
    if "=" in text:
        key, _, value = text.partition("=")
        return f"{key}{MISSPELLING}={value}"
    if re.fullmatch(r"[^/]+/(?:\d+|default)", text):
        return text  # a broker has a number
    name, colon, partition = text.rpartition(":")
    return f"{name}{MISSPELLING}{colon}{partition}" if partition.isdecimal() else f"{text}{MISSPELLING}"


def _replaced(example: str, words: list[str], texts: dict[str, str]) -> str:
    noun_and_verb = example.split()[:2]
    return shlex.join(
        [*noun_and_verb, *(texts.get(word, word) for word in words if word not in ("--yes", "--dry-run"))]
    )
