"""Users of SCRAM as a client sees them: an unknown user looks like the others, on every node."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING

import pytest

from kwire.protocol.sasl_server import ScramCredential, ScramServer
from kwire_cluster.security.sasl_authentication import ScramUsers

if TYPE_CHECKING:
    from kwire.protocol.scram_passwords import ScramName

NAME: ScramName = "SCRAM-SHA-512"


def users(*salts: bytes, iterations: int = 4096, secret: bytes = b"s" * 32) -> ScramUsers:
    """Return the users 0, 1, and so on with these salts, as one node has read them."""
    known = ScramUsers()
    known.secret = secret
    for user, salt in enumerate(salts):
        credential = ScramCredential(salt, b"stored", b"server", iterations)
        assert known.set(str(user), {NAME: str(credential)}) == []
    return known


def challenge(known: ScramUsers, user: str) -> tuple[bytes, int]:
    """Return the salt and the iterations that a client gets."""
    server = ScramServer(NAME, known.finder(NAME), known.decoys(NAME))
    match = re.fullmatch(r"r=[^,]+,s=([^,]+),i=(\d+)", server.respond(f"n,,n={user},r=abc".encode()).decode())
    assert match is not None
    return b64decode(match[1]), int(match[2])


@pytest.mark.parametrize("user", ["stranger", "alice", "", "0x"])
def test_nodes_of_a_cluster_show_the_same(user: str) -> None:
    name = user or "another"
    assert challenge(users(b"salt"), name) == challenge(users(b"salt"), name)
    assert challenge(users(b"salt"), name) != challenge(users(b"salt", secret=b"t" * 32), name)
    assert challenge(users(b"salt"), name) != challenge(users(b"salt"), f"{name}2")


def test_unknown_user_has_the_form_of_most_users() -> None:
    base36 = (b"3k2j9x0q8w7e6r5t4y3u2i1o0p", b"a" * 26, bytes(range(24)))
    cases = [
        ((), 4096, (4096, 24, False)),
        ((bytes(range(24)),), 8192, (8192, 24, False)),
        (base36, 10_000, (10_000, 26, True)),
    ]
    for salts, iterations, form in cases:
        salt, shown = challenge(users(*salts, iterations=iterations), "stranger")
        assert ScramCredential(salt, b"", b"", shown).form == form


def test_form_follows_changes_of_users() -> None:
    known = users(bytes(24))
    assert challenge(known, "stranger")[1] == 4096
    for user in "abc":
        known.set(user, {NAME: str(ScramCredential(b"s" * 24, b"k", b"k", 20_000))})
    assert challenge(known, "stranger")[1] == 20_000
