"""Key stores and trust stores as keytool and OpenSSL write them.

The files in `tests/data/stores` come from keytool of Java 17. Store password `store-password`, key password
`key-password` (JKS only).
"""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from kwire.client.security import ClientCertificate, Secret, TlsConfig
from kwire.client.security.stores import InvalidStore, read_key_store, read_trust_store
from tests.for_rows import for_rows
from tests.real_kafka.certificates import CertificateAuthority

STORES = Path(__file__).parents[2] / "data" / "stores"
PASSWORD = Secret("store-password")
KEY_PASSWORD = Secret("key-password")


def data(name: str) -> bytes:
    return (STORES / name).read_bytes()


def secret(text: str | None) -> Secret | None:
    return None if text is None else Secret(text)


def certificates(pem: str) -> set[bytes]:
    """Return the certificates of a PEM text in DER, without the spelling of keytool."""
    parts = pem.split("-----BEGIN CERTIFICATE-----")[1:]
    return {ssl.PEM_cert_to_DER_cert("-----BEGIN CERTIFICATE-----" + part) for part in parts}


EXPORTED = {name: certificates(data(name).decode()) for name in ("client-jks.pem", "client-p12.pem")}


def is_usable(certificate: ClientCertificate) -> bool:
    """Return whether OpenSSL accepts a certificate with its key."""
    return isinstance(TlsConfig(certificate=certificate).context, ssl.SSLContext)


@pytest.mark.parametrize("name", ["trust.jks", "trust.p12"])
def test_trust_store_has_all_certificates(name: str) -> None:
    found = certificates(read_trust_store(data(name), PASSWORD))

    assert found == EXPORTED["client-jks.pem"] | EXPORTED["client-p12.pem"]


def test_pem_trust_store_may_contain_text_between_certificates() -> None:
    text = b"# our authority\n" + data("client-jks.pem") + b"and another\n" + data("client-p12.pem")

    assert len(certificates(read_trust_store(text, None))) == 2


@for_rows("between", [" ", "\n", "\r\n", " \n ", "\t", "\n\n"])
def test_parts_of_pem_may_have_any_white_space_between_them(between: str) -> None:
    """As in Java's clients, whose properties lose line breaks where they continue in the next line."""
    issued = CertificateAuthority().issue("alice")

    def spelled(entry: str, width: int) -> str:
        begin, *lines, end = entry.strip().splitlines()
        body = "".join(lines)
        return between.join((begin, *(body[at : at + width] for at in range(0, len(body), width)), end))

    entries = [f"-----BEGIN {part}" for part in (issued.chain + issued.encrypted_key(None)).split("-----BEGIN ")[1:]]
    for width in (1, 64, 76, 100_000):
        text = between.join(spelled(entry, width) for entry in entries)
        found = read_key_store(text.encode(), None, None)
        assert is_usable(found)
        assert certificates(found.chain) == certificates(issued.chain)
        assert certificates(read_trust_store(text.encode(), None)) == certificates(issued.chain)


def test_jks_trust_store_needs_no_password() -> None:
    assert len(certificates(read_trust_store(data("trust.jks"), None))) == 2


def test_jks_key_store_gives_key_and_chain() -> None:
    found = read_key_store(data("client.jks"), PASSWORD, KEY_PASSWORD)

    assert certificates(found.chain) == EXPORTED["client-jks.pem"]
    assert is_usable(found)


def test_pkcs12_key_store_gives_key_and_chain() -> None:
    found = read_key_store(data("client.p12"), PASSWORD, None)

    assert certificates(found.chain) == EXPORTED["client-p12.pem"]
    assert is_usable(found)


def test_pkcs12_key_store_keeps_the_order_of_the_chain() -> None:
    issued = CertificateAuthority().issue("alice")

    found = read_key_store(issued.pkcs12("secret"), Secret("secret"), None)

    assert found.chain == issued.chain
    assert is_usable(found)


@pytest.mark.parametrize("password", [None, "secret"])
def test_pem_key_store_gives_key_and_chain(password: str | None) -> None:
    issued = CertificateAuthority().issue("alice")
    text = issued.encrypted_key(password) + issued.chain

    found = read_key_store(text.encode(), None, None if password is None else Secret(password))

    assert certificates(found.chain) == certificates(issued.chain)
    assert is_usable(found)


@pytest.mark.parametrize(
    ("name", "password", "key_password", "reason", "about"),
    [
        ("client.jks", "wrong", "key-password", "password of the store is wrong, or the store is damaged", "password"),
        ("client.jks", "store-password", "wrong", "password of the private key is wrong", "key password"),
        ("client.jks", "store-password", None, "password of the private key is wrong", "key password"),
        ("client.jks", None, None, "the private key is encrypted: its password is missing", "key password"),
        ("client.p12", "wrong", None, "the password of the store is wrong", "password"),
        ("client.p12", None, None, "the store is encrypted: its password is missing", "password"),
        ("trust.jks", "store-password", None, "expected one private key, found 0", "store"),
        ("client-jks.pem", None, None, "expected one private key and its certificate chain, found 0 keys", "store"),
        ("client.jceks", "store-password", None, "convert it with `keytool -importkeystore", "store"),
    ],
)
def test_unreadable_key_store_is_explained(
    name: str, password: str | None, key_password: str | None, reason: str, about: str
) -> None:
    with pytest.raises(InvalidStore) as caught:
        read_key_store(data(name), secret(password), secret(key_password))

    assert reason in str(caught.value)
    assert caught.value.about == about


@pytest.mark.parametrize("content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----", b"\x30\x82\x00\x00"])
def test_store_without_certificates_is_rejected(content: bytes) -> None:
    with pytest.raises(InvalidStore):
        read_trust_store(content, None)


@pytest.mark.parametrize("name", ["client.jks", "trust.jks"])
def test_damaged_jks_is_rejected_wherever_it_is_cut_or_changed(name: str) -> None:
    """The digest of the store finds every damage; without a password the parser must not fail in other ways."""
    whole = data(name)
    for place in range(4, len(whole)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
            with pytest.raises(InvalidStore):
                read_key_store(damaged, PASSWORD, KEY_PASSWORD)
            try:
                read_key_store(damaged, None, KEY_PASSWORD)
            except InvalidStore:
                continue
