"""Trust stores and key stores in PEM, PKCS12, and JKS, converted to PEM.

PEM needs no package. PKCS12 needs `cryptography`. The format of a JKS or PKCS12 file is recognized by its first bytes,
because Java too reads PKCS12 files under the type JKS.
"""

from __future__ import annotations

import re

from kwire._util.light_typing import Any
from kwire._util.secret import Secret
from kwire._util.text_files import EncodingError, decode_properties
from kwire.client.security.jks import MAGIC, InvalidStore, StoreContent, read_jks
from kwire.client.security.tls import ClientCertificate

__all__ = ["InvalidStore", "is_pem", "read_key_store", "read_trust_store"]

_CERTIFICATE = re.compile(r"-----BEGIN (CERTIFICATE)-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(r"-----BEGIN ((?:[A-Z]+ )?(?:ENCRYPTED )?PRIVATE KEY)-----(.*?)-----END \1-----", re.DOTALL)


def read_trust_store(data: bytes, password: Secret | None) -> str:
    """Return the certificates of a store in PEM.

    Raises:
        InvalidStore: the store cannot be read, or has no certificates.
    """
    if is_pem(data):
        certificates = _entries(_CERTIFICATE, decode_properties(data))
    else:
        content = _read_binary(data, password, None)
        chains = (certificate for _, chain in content.keys for certificate in chain[:1])
        certificates = [_pem("CERTIFICATE", der) for der in (*content.certificates, *chains)]
    if not certificates:
        raise InvalidStore("the store has no certificates")
    return "\n".join(certificates) + "\n"


def read_key_store(data: bytes, password: Secret | None, key_password: Secret | None) -> ClientCertificate:
    """Return the certificate chain and the private key of a store.

    Args:
        key_password: the password of the key; None for the password of the store.

    Raises:
        InvalidStore: the store cannot be read, or does not have exactly one private key.
    """
    if is_pem(data):
        text = decode_properties(data)
        keys, chain = _entries(_KEY, text), _entries(_CERTIFICATE, text)
        if len(keys) != 1 or not chain:
            raise InvalidStore(f"expected one private key and its certificate chain, found {len(keys)} keys")
        return ClientCertificate("\n".join(chain) + "\n", Secret(keys[0] + "\n"), key_password)
    content = _read_binary(data, password, key_password)
    if len(content.keys) != 1:
        raise InvalidStore(f"expected one private key, found {len(content.keys)}")
    ((key, key_chain),) = content.keys
    pem = "\n".join(_pem("CERTIFICATE", der) for der in key_chain) + "\n"
    return ClientCertificate(pem, Secret(_pem("PRIVATE KEY", key) + "\n"))


def is_pem(data: bytes) -> bool:
    """Return whether a store is a text with certificates or keys."""
    try:
        return "-----BEGIN " in decode_properties(data)
    except EncodingError:
        return False


def _entries(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the entries of a kind in a text.

    As Java's clients do, it takes any white space between the parts of an entry. A property that continues in the next
    line has blanks there, and OpenSSL accepts line breaks only.
    """
    return [
        # Headers, such as those of keys that OpenSSL once encrypted itself, are lines.
        match[0] if ":" in match[2] else _lines(match[1], "".join(match[2].split()))
        for match in pattern.finditer(text)
    ]


def _pem(label: str, der: bytes) -> str:
    import base64

    return _lines(label, base64.b64encode(der).decode())


def _lines(label: str, text: str) -> str:
    lines = (text[at : at + 64] for at in range(0, len(text), 64))
    return "\n".join((f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"))


def _read_binary(data: bytes, password: Secret | None, key_password: Secret | None) -> StoreContent:
    if data.startswith(MAGIC):
        return read_jks(data, password, key_password)
    if data[:1] == b"\x30":  # a SEQUENCE of ASN.1
        return _read_pkcs12(data, password)
    raise InvalidStore("expected PEM, PKCS12, or JKS; convert it with `keytool -importkeystore -deststoretype PKCS12`")


def _read_pkcs12(data: bytes, password: Secret | None) -> StoreContent:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise InvalidStore(
            "reading PKCS12 needs the package cryptography: pip install 'kwire[security]', or use PEM"
        ) from None
    encoding: Any = serialization.Encoding
    try:
        store = pkcs12.load_pkcs12(data, None if password is None else password.reveal().encode())
    except ValueError as error:
        reason = str(error)
    else:
        extra = tuple(
            additional_cert.certificate.public_bytes(encoding.DER) for additional_cert in store.additional_certs
        )
        own = () if store.cert is None else (store.cert.certificate.public_bytes(encoding.DER),)
        if store.key is None:
            return StoreContent(own + extra, ())
        key = store.key.private_bytes(encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return StoreContent((), ((key, own + extra),))
    if "password" in reason.lower() or "mac" in reason.lower():
        missing = "the store is encrypted: its password is missing"
        raise InvalidStore(missing if password is None else "the password of the store is wrong", "password")
    raise InvalidStore("the store is not valid PKCS12")
