"""Syntaxes of addresses and paths of ZooKeeper: what matches the pattern is accepted, and nothing else is."""

from __future__ import annotations

import re
from ipaddress import ip_address

from hypothesis import given
from hypothesis import strategies as st
from kazoo.hosts import collect_hosts

from kwire_admin.operations import registry
from kwire_admin.operations.parameters import NODE, InvalidArgument
from kwire_cluster.zookeeper.connection import check_hosts
from kwire_cluster.zookeeper.store import check_path
from kwire_zookeeper_tools.verbs.zookeeper.decode import PATH
from kwire_zookeeper_tools.verbs.zookeeper.show import ZOOKEEPER

PATHS = st.from_regex(PATH.pattern, fullmatch=True)
PIECES = st.sampled_from([*"/.-_ a0\n\0", "\u0661", "..", "zookeeper"])


def _accepts(text: str) -> bool:
    try:
        check_path(PATH.match(text).string)
    except InvalidArgument:
        return False
    return True


@given(PATHS | st.text() | st.lists(PIECES).map("".join) | st.tuples(PATHS, PIECES).map("".join))
def test_path_is_accepted_if_and_only_if_it_matches_the_pattern(text: str) -> None:
    assert _accepts(text) == (re.search(f"^(?:{PATH.pattern})\\Z", text) is not None)


def test_every_declared_syntax_is_tested() -> None:
    verbs = [registry.find_verb(noun, name) for noun in registry.nouns() for name in registry.verb_names(noun)]
    own = [verb for verb in verbs if verb is not None and verb.function.__module__.startswith("kwire_zookeeper_tools.")]
    declared = {parameter.declared.syntax for verb in own for parameter in verb.parameters} - {None}
    assert declared == {NODE, PATH, ZOOKEEPER}


@given(st.from_regex(ZOOKEEPER.pattern, fullmatch=True))
def test_address_of_a_zookeeper_is_read_by_its_client(text: str) -> None:
    assert check_hosts(text) == text
    servers, chroot = collect_hosts(text)
    assert 1 <= len(servers) == text.partition("/")[0].count(",") + 1
    for host, port in servers:
        assert 1 <= port <= 65535
        assert ip_address(host).version == 6 if ":" in host else host.encode("idna")
    assert chroot is None or not {"", ".", ".."}.intersection(chroot.split("/")[1:])
