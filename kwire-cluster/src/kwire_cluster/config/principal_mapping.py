"""Rules that map the subject of a certificate to a short name: `ssl.principal.mapping.rules` (KIP-371)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kwire._kwire import Pattern
from kwire._util.readable import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_GROUP = re.compile(r"\$(\d+)")


class PrincipalRule(NamedTuple):
    """A rule.

    Attributes:
        pattern: matches the whole subject; None for every subject.
        replacement: the name, with groups of the pattern such as `$1`; None for the subject as it is.
        case: `L` for lower case, `U` for upper case, or empty.
    """

    pattern: Pattern | None = None
    replacement: str | None = None
    case: str = ""


DEFAULT_RULES = (PrincipalRule(),)
"""The subject as it is."""


def parse_rules(text: str) -> tuple[PrincipalRule, ...]:
    """Return the rules for a text such as `RULE:^CN=([^,]+).*$/$1/L,DEFAULT`.

    Raises:
        ValueError: the text is not a list of rules.
    """
    rules: list[PrincipalRule] = []
    position = 0
    while position < len(text):
        match = _RULE.match(text, position)
        if match is None:
            raise ValueError(f"expected DEFAULT or RULE:pattern/replacement/[LU], found {text[position:]!r}")
        default, pattern, replacement, case = match.groups()
        if default is not None:
            rules += DEFAULT_RULES
        else:
            rules.append(_rule(pattern, replacement, case))
        position = match.end()
    if not rules:
        raise ValueError("expected at least one rule")
    return tuple(rules)


def _rule(pattern: str, replacement: str, case: str) -> PrincipalRule:
    try:
        compiled = Pattern(pattern)
    except ValueError as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    groups = {int(number) for number in _GROUP.findall(replacement)}
    if groups and max(groups) > compiled.groups:
        raise ValueError(
            f"{replacement!r} has group {max(groups)}: {pattern!r} has {counted(compiled.groups, 'group')}"
        )
    return PrincipalRule(compiled, replacement, case)


def mapped_name(subject: str, rules: Iterable[PrincipalRule]) -> str | None:
    """Return the name by the first rule that matches the subject; None if none of them does."""
    for rule in rules:
        if rule.pattern is None or rule.replacement is None:
            return subject
        groups = rule.pattern.fullmatch(subject)
        if groups is not None:
            parts = _GROUP.split(rule.replacement)
            parts[1::2] = [groups[int(number)] or "" for number in parts[1::2]]
            name = "".join(parts)
            return name.lower() if rule.case == "L" else name.upper() if rule.case == "U" else name
    return None
