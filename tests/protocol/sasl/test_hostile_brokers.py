"""Whatever a broker sends, a mechanism returns a response or raises SaslError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from kwire._util.secret import Secret
from kwire.protocol.sasl import OAuthBearerMechanism, PlainMechanism, SaslError, SaslMechanism, ScramMechanism

MECHANISMS: dict[str, Callable[[], SaslMechanism]] = {
    "PLAIN": lambda: PlainMechanism("user", Secret("password")),
    "SCRAM-SHA-256": lambda: ScramMechanism("SCRAM-SHA-256", "user", Secret("password"), nonce="abc"),
    "SCRAM-SHA-512": lambda: ScramMechanism("SCRAM-SHA-512", "user", Secret("password"), nonce="abc"),
    "OAUTHBEARER": lambda: OAuthBearerMechanism(Secret("token")),
}
ATTRIBUTES = st.sampled_from(
    ["r=abc", "r=abcdef", "s=c2FsdA==", "s=", "i=4096", "i=0", "i=x", "m=x", "v=YQ==", "e=no", ""]
)
CHALLENGES = st.one_of(
    st.binary(max_size=40),
    st.lists(ATTRIBUTES, max_size=5).map(lambda parts: ",".join(parts).encode()),
    st.sampled_from([b"", b"{}", b"null", b'{"status":1,"scope":[]}']),
)


@given(st.sampled_from(sorted(MECHANISMS)), st.lists(CHALLENGES, min_size=1, max_size=3))
def test_only_sasl_errors_are_raised(name: str, challenges: list[bytes]) -> None:
    mechanism = MECHANISMS[name]()
    mechanism.respond(b"")

    with suppress(SaslError):
        for challenge in challenges:
            response = mechanism.respond(challenge)
            assert response is None or isinstance(response, bytes)
    if name.startswith("SCRAM"):
        assert not mechanism.is_complete, "no challenge above has a signature"
