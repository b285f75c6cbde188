"""TLS: trusted certificates, the client's certificate, and what a failed handshake means."""

from __future__ import annotations

import os
import ssl
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.secret import Secret
from kwire._util.text_files import EncodingError, decode_properties
from kwire._util.watched_files import WatchedFiles
from kwire.client.security.errors import SecurityConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""The names of `ssl.enabled.protocols` that are supported. Older versions are insecure."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The certificate of the client and its private key.

    Attributes:
        chain: the certificate in PEM, followed by the certificates of intermediate authorities.
        key: the private key in PEM.
        key_password: the password of the key; None if it is not encrypted.
    """

    chain: str = field(repr=False)
    key: Secret
    key_password: Secret | None = None


@dataclass(frozen=True, kw_only=True)
class TlsConfig:
    """Encryption of a connection and verification of the broker.

    Attributes:
        ca: the trusted certificates in PEM; None for the certificates of the operating system.
        certificate: the certificate of the client; None if the broker does not request one.
        check_hostname: True if the certificate of the broker must contain the host name or address that the client
            connects to (`ssl.endpoint.identification.algorithm`).
        versions: the versions of TLS, of `TLSv1.2` and `TLSv1.3`.
        ciphers: OpenSSL's list of cipher suites for TLS 1.2; None for its default.
        renewed: the configuration of the files that certificates came from, as the files are now; None if they came
            from no files. New connections use it, so certificates can be replaced while a process runs.
    """

    ca: str | None = field(default=None, repr=False)
    certificate: ClientCertificate | None = None
    check_hostname: bool = True
    versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: str | None = None
    renewed: WatchedFiles[TlsConfig] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_files(
        cls,
        *,
        ca: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        key_password: Secret | None = None,
        check_hostname: bool = True,
    ) -> TlsConfig:
        """Return a configuration with certificates and key of PEM files.

        Args:
            ca: the file of the trusted certificates; None for the certificates of the operating system.
            certificate: the file of the client's certificate chain.
            key: the file of its private key; None if `certificate` contains it.

        Raises:
            OSError: a file cannot be read.
        """

        def read() -> TlsConfig:
            chain = None if certificate is None else _read_pem(certificate)
            own: ClientCertificate | None = None
            if chain is not None:
                text = Secret(chain if key is None else _read_pem(key))
                own = ClientCertificate(chain, text, key_password)
            trusted = None if ca is None else _read_pem(ca)
            return cls(ca=trusted, certificate=own, check_hostname=check_hostname)

        return read().watching([Path(file) for file in (ca, certificate, key) if file is not None], read)

    def watching(self, files: Sequence[Path], read: Callable[[], TlsConfig]) -> TlsConfig:
        """Return this configuration, which is read again after its files were replaced.

        Args:
            files: the files.
            read: reads the configuration again.
        """

        def read_valid() -> TlsConfig:
            config = read()
            _ = config.context  # a certificate and a key that do not belong together are refused
            return config

        if not files:
            return self
        return replace(self, renewed=WatchedFiles(self, files, read_valid, (SecurityConfigError, OSError)))

    @property
    def context(self) -> ssl.SSLContext:
        """The context of Python's `ssl`, made once, and again after the files of certificates were replaced.

        Raises:
            SecurityConfigError: a certificate, a key, or its password is invalid.
        """
        return (self if self.renewed is None else self.renewed.get()).own_context

    @cached_property
    def own_context(self) -> ssl.SSLContext:
        """The context of the certificates that this configuration has, whatever became of their files.

        Raises:
            SecurityConfigError: see `context`.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.check_hostname
        enabled = [VERSIONS[version] for version in self.versions]
        context.minimum_version, context.maximum_version = min(enabled), max(enabled)
        if self.ciphers is not None:
            try:
                context.set_ciphers(self.ciphers)
            except ssl.SSLError:
                raise SecurityConfigError(
                    "ssl.cipher.suites", f"OpenSSL knows no cipher suite of {self.ciphers}"
                ) from None
        if self.ca is None:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        else:
            try:
                context.load_verify_locations(cadata=self.ca)
            except (ssl.SSLError, ValueError, TypeError):  # a TypeError if it is not ASCII
                raise SecurityConfigError("ssl.truststore.certificates", "expected certificates in PEM") from None
        if self.certificate is not None:
            load_certificate(context, self.certificate)
        return context


def _read_pem(path: str | os.PathLike[str]) -> str:
    """Return the text of a PEM file, which may have comments in any encoding.

    Raises:
        SecurityConfigError: the file is not text, such as a certificate in DER.
        OSError: the file cannot be read.
    """
    try:
        # OpenSSL accepts ASCII only, and comments of bundles have names of authorities.
        return decode_properties(Path(path).read_bytes()).encode("ascii", "replace").decode()
    except EncodingError:
        raise SecurityConfigError(None, "expected PEM", os.fspath(path)) from None


def load_certificate(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    """Load a certificate and its key, which Python reads from files only.

    Raises:
        SecurityConfigError: they are invalid, or do not belong together.
    """
    password = certificate.key_password
    # Without a password OpenSSL would ask the terminal for the password of an encrypted key.
    reveal = Secret("").reveal if password is None else password.reveal
    try:
        with _private_file(certificate.chain) as chain, _private_file(certificate.key.reveal()) as key:
            context.load_cert_chain(chain, key, reveal)
        return
    except ssl.SSLError as error:
        reason = error.reason or ""
    except ValueError:
        reason = "BAD_DECRYPT"
    if reason == "KEY_VALUES_MISMATCH":
        raise SecurityConfigError(
            "ssl.keystore.key", "the private key does not belong to the first certificate of the chain"
        )
    if password is None and "ENCRYPTED" in certificate.key.reveal():
        raise SecurityConfigError("ssl.key.password", "the private key is encrypted: its password is missing")
    if password is not None:
        raise SecurityConfigError("ssl.key.password", "the password of the private key is wrong")
    raise SecurityConfigError(
        "ssl.keystore.certificate.chain", "expected a certificate chain and its private key in PEM"
    )


@contextmanager
def _private_file(content: str) -> Iterator[str]:
    """Yield the path of a file that only this process can read: in memory on Linux, else temporary."""
    data = content.encode()
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        number = os.memfd_create("kwire", os.MFD_CLOEXEC)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{number}"
        return
    with tempfile.TemporaryDirectory(prefix="kwire-") as folder:  # mode 0700
        path = Path(folder, "pem")
        path.write_bytes(data)
        yield str(path)


_NOT_TRUSTED = "check ssl.truststore.location"
_CERTIFICATE_CAUSES = {
    9: "the broker's certificate is not yet valid: check the clock of this machine",
    10: "the broker's certificate has expired: it must be renewed on the broker",
    18: f"the broker's certificate is self-signed and not trusted: {_NOT_TRUSTED}",
    19: f"the broker's certificate is signed by an authority that is not trusted: {_NOT_TRUSTED}",
    20: f"the broker's certificate is signed by an authority that is not trusted: {_NOT_TRUSTED}",
    21: f"the broker's certificate is signed by an authority that is not trusted: {_NOT_TRUSTED}",
}
"""By the verification results of OpenSSL (X509_V_ERR)."""
HOST_MISMATCH = (62, 64)
_NO_TLS = "the listener does not speak TLS: set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or use another port"


def explain_tls_error(error: OSError, host: str, *, has_certificate: bool) -> str:
    """Return the probable cause of an error during or after a TLS handshake, and what to check.

    Args:
        error: the error of Python's `ssl`, or of the socket.
        host: the host that the client connects to.
        has_certificate: True if the client has a certificate.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in HOST_MISMATCH:
            return (
                f"the broker's certificate is not valid for {host}: use a name that the certificate contains (see"
                " advertised.listeners), or set ssl.endpoint.identification.algorithm to empty"
            )
        return _CERTIFICATE_CAUSES.get(
            error.verify_code, f"the broker's certificate cannot be verified: {error.verify_message}"
        )
    reason = (error.reason or "") if isinstance(error, ssl.SSLError) else ""
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError):
        return f"the broker closed the connection; probably {_NO_TLS}"
    if "ALERT" in reason and any(word in reason for word in ("CERTIFICATE", "UNKNOWN_CA")):
        alert = reason.partition("ALERT_")[2].replace("_", " ").lower()
        if has_certificate:
            return f"the broker rejects the client's certificate (alert {alert}): check ssl.keystore.location"
        return f"the broker requires a client certificate (alert {alert}): set ssl.keystore.location"
    if reason in ("WRONG_VERSION_NUMBER", "UNEXPECTED_MESSAGE", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return _NO_TLS
    if "ALERT" in reason or reason in ("UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS_AVAILABLE", "NO_SHARED_CIPHER"):
        text = f"client and broker have no TLS version or cipher suite in common ({reason.replace('_', ' ').lower()})"
        if "HANDSHAKE_FAILURE" in reason and not has_certificate:
            text += ", or the broker requires a client certificate (ssl.keystore.location)"
        return f"{text}: check ssl.enabled.protocols and ssl.cipher.suites"
    return reason.replace("_", " ").lower() or str(error)
