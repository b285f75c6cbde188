"""Certificates for tests: an authority of their own, and certificates of brokers and clients.

Needs the package `cryptography` (extra `security`).
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CertificateAuthority", "IssuedCertificate"]

LOCAL_HOSTS = ("localhost", "127.0.0.1")


class IssuedCertificate:
    """A certificate with its private key.

    Attributes:
        chain: the certificate and the certificate of its authority, in PEM.
        key: the private key in PEM, not encrypted.
    """

    def __init__(
        self, certificate: x509.Certificate, issuer: x509.Certificate, key: ec.EllipticCurvePrivateKey
    ) -> None:
        self.certificate = certificate
        self.issuer = issuer
        self.private_key = key
        self.chain = _pem(certificate) + _pem(issuer)
        self.key = self.encrypted_key(None)

    def encrypted_key(self, password: str | None) -> str:
        """Return the private key in PEM (PKCS #8), encrypted if there is a password."""
        encryption: Any = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return self.private_key.private_bytes(encoding, form, encryption).decode()

    def pkcs12(self, password: str) -> bytes:
        """Return a PKCS12 key store with the key and the chain."""
        return pkcs12.serialize_key_and_certificates(
            b"client",
            self.private_key,
            self.certificate,
            [self.issuer],
            serialization.BestAvailableEncryption(password.encode()),
        )


class CertificateAuthority:
    """A certificate authority.

    Attributes:
        certificate: its certificate in PEM.
    """

    def __init__(self, name: str = "kwire test CA") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = (
            _builder(self._name, self._name, self._key, datetime.now(UTC) + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    key_cert_sign=True,
                    crl_sign=True,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = _pem(self._certificate)

    def issue(
        self, name: str, *, hosts: Sequence[str] = LOCAL_HOSTS, expires: timedelta = timedelta(days=1)
    ) -> IssuedCertificate:
        """Issue a certificate.

        Args:
            name: its common name.
            hosts: the host names and addresses that it is valid for.
            expires: the time until its expiry; negative for an expired certificate.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            _builder(subject, self._name, key, datetime.now(UTC) + expires)
            .add_extension(x509.SubjectAlternativeName([_alternative_name(host) for host in hosts]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return IssuedCertificate(certificate, self._certificate, key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, expires: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(datetime.now(UTC), expires) - timedelta(days=1))
        .not_valid_after(expires)
    )


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
