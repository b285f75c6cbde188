"""Mapping of certificates to principals, with the examples of KIP-371."""

from __future__ import annotations

import pytest

from kwire_cluster.config.principal_mapping import mapped_name, parse_rules

RULES = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, "
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L, "
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, "
    "DEFAULT"
)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"),
        ("CN=Duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke,OU=JavaSoft,O=Sun Microsystems", "DUKE"),
        ("OU=JavaSoft,O=Sun Microsystems", "OU=JavaSoft,O=Sun Microsystems"),
    ],
)
def test_first_matching_rule_counts(subject: str, name: str) -> None:
    assert mapped_name(subject, parse_rules(RULES)) == name


def test_subject_that_no_rule_matches_has_no_name() -> None:
    assert mapped_name("CN=eve,O=other", parse_rules("RULE:^CN=(.*?),O=example$/$1/")) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected at least one rule"),
        ("RULE:^CN=(.*)$", r"expected DEFAULT or RULE:pattern/replacement/\[LU\], found 'RULE:"),
        ("DEFAULT,RULE:(/x/", "is not a regular expression"),
        ("RULE:^CN=(.*)$/$2/", r"has group 2: '\^CN=\(\.\*\)\$' has 1 group"),
    ],
)
def test_invalid_rules_are_explained(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_rules(text)
