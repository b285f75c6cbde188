"""Trust stores and key stores in PEM, PKCS12, and JKS, converted to PEM.

PEM needs no package. PKCS12 needs `cryptography`. The format of a JKS or PKCS12 file is recognized by its first bytes,
because Java too reads PKCS12 files under the type JKS.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from kwire._util.light_typing import Any, NamedTuple
from kwire._util.secret import Secret
from kwire._util.text_files import EncodingError, decode_properties
from kwire.client.security.tls import ClientCertificate

MAGIC = b"\xfe\xed\xfe\xed"
_DIGEST = 20
_WHITENER = b"Mighty Aphrodite"
_KEY_PROTECTOR = bytes.fromhex("060a2b060104012a02110101")
"""The object identifier 1.3.6.1.4.1.42.2.17.1.1, of Sun's key protector."""

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


class InvalidStore(ValueError):
    """A store cannot be read.

    Attributes:
        about: the subject of the problem: the `store`, its `password`, or the `key password`.
    """

    def __init__(self, reason: str, about: str = "store") -> None:
        super().__init__(reason)
        self.about = about


class StoreContent(NamedTuple):
    """Trusted certificates, and private keys (PKCS #8) with their certificate chains, all in DER."""

    certificates: tuple[bytes, ...]
    keys: tuple[tuple[bytes, tuple[bytes, ...]], ...]


def read_jks(data: bytes, password: Secret | None, key_password: Secret | None) -> StoreContent:
    """Read a Java key store (JKS), the format that keytool wrote by default before Java 9.

    No maintained library reads it: pyjks, the only one, has had no release since 2020. The format is small and final:

        JKS    := magic u4, version u4 (1 or 2), count u4, Entry * count, SHA-1 of the password and everything before
        Entry  := 1 u4, alias UTF, date u8, length u4, EncryptedPrivateKeyInfo, count u4, Cert * count
                | 2 u4, alias UTF, date u8, Cert
        Cert   := type UTF (version 2 only), length u4, DER
        UTF    := length u2, Java's modified UTF-8

    A private key is hidden by a stream of SHA-1 digests of the password (sun.security.provider.KeyProtector), which is
    no protection by today's standards. `keytool -importkeystore -deststoretype PKCS12` converts a store.

    Args:
        password: the password of the store; None skips the check of its integrity, as Java does.
        key_password: the password of the private keys; None for the password of the store.

    Raises:
        InvalidStore: the file is damaged, or a password is wrong or missing.
    """
    if password is not None:
        digest = hashlib.sha1(_utf16(password) + _WHITENER + data[:-_DIGEST], usedforsecurity=False).digest()
        if not hmac.compare_digest(digest, data[-_DIGEST:]):
            raise InvalidStore("the password of the store is wrong, or the store is damaged", "password")
    reader = _Reader(data[:-_DIGEST])
    reader.take(len(MAGIC))
    version = reader.number(4)
    if version not in (1, 2):
        raise InvalidStore(f"version {version} of JKS is not supported: 1 or 2 was expected")
    certificates: list[bytes] = []
    keys: list[tuple[bytes, tuple[bytes, ...]]] = []
    for _ in range(reader.number(4)):
        tag = reader.number(4)
        reader.take(reader.number(2) + 8)  # alias and date
        if tag == 1:
            protected = reader.take(reader.number(4))
            chain = tuple(reader.certificate(version) for _ in range(reader.number(4)))
            keys.append((protected, chain))
        elif tag == 2:
            certificates.append(reader.certificate(version))
        else:
            raise InvalidStore("the store is damaged")
    if reader.left:
        raise InvalidStore("the store is damaged: bytes are left over")
    opened = tuple((_unprotect(key, key_password or password), chain) for key, chain in keys)
    return StoreContent(tuple(certificates), opened)


def _utf16(password: Secret) -> bytes:
    return password.reveal().encode("utf-16-be")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offset = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._offset

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise InvalidStore("the store is truncated")
        self._offset += size
        return self._data[self._offset - size : self._offset]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def certificate(self, version: int) -> bytes:
        if version == 2:
            self.take(self.number(2))
        return self.take(self.number(4))


def _unprotect(protected: bytes, password: Secret | None) -> bytes:
    """Return the private key of an EncryptedPrivateKeyInfo: an algorithm, and salt, ciphertext, and digest."""
    if password is None:
        raise InvalidStore("the private key is encrypted: its password is missing", "key password")
    outer = _der(protected, 0, 0x30)
    algorithm = _der(protected, outer[0], 0x30)
    octets = _der(protected, algorithm[1], 0x04)
    if not protected[algorithm[0] :].startswith(_KEY_PROTECTOR) or octets[1] - octets[0] < 2 * _DIGEST:
        raise InvalidStore("the private key is not protected by the algorithm of JKS")
    content = protected[octets[0] : octets[1]]
    salt, ciphertext, check = content[:_DIGEST], content[_DIGEST:-_DIGEST], content[-_DIGEST:]
    stream = bytearray()
    block = salt
    while len(stream) < len(ciphertext):
        block = hashlib.sha1(_utf16(password) + block, usedforsecurity=False).digest()
        stream += block
    key = bytes(byte ^ mask for byte, mask in zip(ciphertext, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(_utf16(password) + key, usedforsecurity=False).digest(), check):
        raise InvalidStore("the password of the private key is wrong", "key password")
    return key


def _der(data: bytes, offset: int, tag: int) -> tuple[int, int]:
    """Return start and end of the content of the DER element at an offset."""
    header = data[offset : offset + 2]
    if len(header) == 2 and header[0] == tag:
        start, length = offset + 2, header[1]
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[start : start + size], "big")
            start += size
        if start + length <= len(data):
            return start, start + length
    raise InvalidStore("the private key is malformed")
