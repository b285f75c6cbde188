"""The keys `ssl.*` of a client configuration."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.security.errors import SecurityConfigError
from kwire.client.security.stores import InvalidStore, is_pem, read_key_store, read_trust_store
from kwire.client.security.tls import VERSIONS, TlsConfig

if TYPE_CHECKING:
    from kwire.client.security.tls import ClientCertificate
    from kwire.client.security.values import Values

STORE_TYPES = ("JKS", "PKCS12", "PEM")


def read_tls(values: Values) -> TlsConfig:
    """Return the TLS configuration.

    Raises:
        SecurityConfigError: a value is invalid, or a store cannot be read.
    """
    algorithm = "https" if "ssl.endpoint.identification.algorithm" not in values else None
    algorithm = algorithm or (values.text("ssl.endpoint.identification.algorithm") or "").lower()
    if algorithm not in ("", "https"):
        raise values.error("ssl.endpoint.identification.algorithm", f"expected https or nothing, found {algorithm!r}")
    config = _config(values, check_hostname=algorithm == "https")
    try:
        _ = config.context  # so that mistakes are reported now, not at the first connection
    except SecurityConfigError as error:
        raise values.error(error.key or "security.protocol", error.problem) from None
    locations = ("ssl.truststore.location", "ssl.keystore.location")
    files = [Path(path) for path in map(values.text, locations) if path is not None]
    return config.watching(files, partial(_config, values, check_hostname=algorithm == "https"))


def _config(values: Values, *, check_hostname: bool) -> TlsConfig:
    """Read the configuration with its stores."""
    return TlsConfig(
        ca=_trusted(values),
        certificate=_certificate(values),
        check_hostname=check_hostname,
        versions=_versions(values),
        ciphers=_ciphers(values),
    )


def _trusted(values: Values) -> str | None:
    inline, location = values.text("ssl.truststore.certificates"), values.text("ssl.truststore.location")
    _check_type(values, "ssl.truststore.type")
    if inline is not None and location is not None:
        raise values.error("ssl.truststore.certificates", "cannot be combined with ssl.truststore.location")
    if inline is None and location is None:
        return None
    data = values.file("ssl.truststore.location") if inline is None else inline.encode()
    try:
        if is_pem(data) and "ssl.truststore.password" in values:
            values.warn("ssl.truststore.password", "has no effect on a store in PEM")
        return read_trust_store(data, values.secret("ssl.truststore.password"))
    except InvalidStore as error:
        about = "ssl.truststore.password" if error.about == "password" else "ssl.truststore.location"
        raise values.error(about if inline is None else "ssl.truststore.certificates", str(error)) from None


def _certificate(values: Values) -> ClientCertificate | None:
    _check_type(values, "ssl.keystore.type")
    try:
        return _read_certificate(values)
    except InvalidStore as error:
        reason, about = str(error), error.about
    # Raised here, so that the traceback has no frames with keys.
    where = {"password": "ssl.keystore.password", "key password": "ssl.key.password"}
    default = "ssl.keystore.location" if "ssl.keystore.location" in values else "ssl.keystore.key"
    raise values.error(where.get(about, default), reason)


def _read_certificate(values: Values) -> ClientCertificate | None:
    chain, key = values.text("ssl.keystore.certificate.chain"), values.secret("ssl.keystore.key")
    location = values.text("ssl.keystore.location")
    if location is not None and (chain is not None or key is not None):
        raise values.error("ssl.keystore.key", "cannot be combined with ssl.keystore.location")
    passwords = values.secret("ssl.keystore.password"), values.secret("ssl.key.password")
    if location is not None:
        data = values.file("ssl.keystore.location")
        if is_pem(data) and "ssl.keystore.password" in values:
            values.warn("ssl.keystore.password", "has no effect on a store in PEM: ssl.key.password encrypts its key")
        return read_key_store(data, *passwords)
    if chain is not None and key is not None:
        return read_key_store(f"{chain}\n{key.reveal()}".encode(), *passwords)
    if chain is None and key is None:
        return None
    missing = "ssl.keystore.certificate.chain" if chain is None else "ssl.keystore.key"
    raise values.error(missing, "is missing: certificate chain and private key are needed together")


def _check_type(values: Values, key: str) -> None:
    """Check the type of a store. The content decides how it is read."""
    type = (values.text(key) or "JKS").upper()
    if type not in STORE_TYPES:
        raise values.error(key, f"{type} is not supported: convert the store to PKCS12 with keytool -importkeystore")


def _versions(values: Values) -> tuple[str, ...]:
    wanted = values.list("ssl.enabled.protocols")
    versions = tuple(version for version in wanted if version in VERSIONS) if wanted else tuple(VERSIONS)
    if not versions:
        raise values.error("ssl.enabled.protocols", f"expected {' or '.join(VERSIONS)}, found {', '.join(wanted)}")
    if others := [version for version in wanted if version not in VERSIONS]:
        values.warn("ssl.enabled.protocols", f"{', '.join(others)} has no effect: older versions are insecure")
    suites = values.list("ssl.cipher.suites")
    if not suites:
        return versions
    # A version without a suite cannot be negotiated, as in Java. OpenSSL lists the suites of TLS 1.3 separately.
    has_suite = {"TLSv1.2": any(map(_is_old_suite, suites)), "TLSv1.3": not all(map(_is_old_suite, suites))}
    usable = tuple(version for version in versions if has_suite[version])
    if not usable:
        raise values.error("ssl.cipher.suites", f"has no suite of {' or '.join(versions)}")
    if has_suite["TLSv1.3"] and "TLSv1.3" in usable:
        values.warn("ssl.cipher.suites", "Python cannot restrict the suites of TLS 1.3: all of them are allowed")
    return usable


def _is_old_suite(suite: str) -> bool:
    """Return whether a suite belongs to TLS 1.2: suites of TLS 1.3 name no key exchange."""
    return "_WITH_" in suite


def _ciphers(values: Values) -> str | None:
    """Return the cipher suites of TLS 1.2 in OpenSSL's names."""
    names = [_openssl_name(suite) for suite in values.list("ssl.cipher.suites") if _is_old_suite(suite)]
    return ":".join(names) if names else None


def _openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a suite of TLS 1.2: TLS_RSA_WITH_AES_128_GCM_SHA256 is AES128-GCM-SHA256."""
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    name = cipher if exchange == "RSA" else f"{exchange}_{cipher}"
    return name.replace("_", "-")
