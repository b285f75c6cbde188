"""Preconditions of a location before it is used: the endpoint and the credentials of S3.

Without credentials, delta-rs asks the metadata service of EC2 for some. Elsewhere its address does not answer, which
takes minutes and ends with an error about that address.
"""

from __future__ import annotations

import os
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from kwire.errors import KwireError

METADATA_SERVICE = "http://169.254.169.254"
"""The metadata service of EC2."""

CONNECT_S = 1.0
"""Seconds within which the metadata service answers: it is on the host of the virtual machine."""

OTHER_SOURCES = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
"""Environment variables that name other sources of credentials."""

TOKEN_OF_POD = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
"""Environment variables of a source of credentials that needs both."""

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""Environment variables with the URL of a store that replaces the service of Amazon."""

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class NoCredentials(KwireError, PermissionError):
    """There are no credentials for a bucket.

    Attributes:
        uri: the location.
        missing: the environment variables that are not set.
        reason: the fault of another source of credentials; empty without one.
    """

    def __init__(self, uri: str, missing: tuple[str, ...], reason: str = "") -> None:
        super().__init__(uri, missing, reason)
        self.uri = uri
        self.missing = missing
        self.reason = reason

    def __str__(self) -> str:
        if self.reason:
            return f"{self.uri}: no credentials: {self.reason}"
        if len(self.missing) == 1:
            return f"{self.uri}: no credentials: {self.missing[0]} is not set"
        return (
            f"{self.uri}: no credentials: {' and '.join(self.missing)} are not set, there is no profile in"
            " ~/.aws/credentials, and no metadata service of EC2; AWS_SKIP_SIGNATURE=true reads public buckets"
        )


class InvalidEndpoint(KwireError, ValueError):
    """The endpoint of an object store is not a URL.

    Attributes:
        variable: the environment variable.
        value: its value, without credentials.
    """

    def __init__(self, variable: str, value: str) -> None:
        super().__init__(variable, value)
        self.variable = variable
        self.value = value

    def __str__(self) -> str:
        return f"{self.variable}={self.value}: expected the URL of an endpoint, such as http://host:9000"


def require_credentials(uri: str) -> None:
    """Check the endpoint of a location of S3, and that there are credentials for it; others are not checked.

    Raises:
        InvalidEndpoint: the endpoint is not a URL.
        NoCredentials: there are no credentials.
    """
    if not uri.startswith("s3:"):
        return
    for name in ENDPOINTS:
        _check_endpoint(name, os.environ.get(name, ""))
    missing = tuple(name for name in KEYS if not os.environ.get(name))
    if not missing or any(os.environ.get(name) for name in OTHER_SOURCES):
        return
    if profile := os.environ.get("AWS_PROFILE"):
        if profile in _profiles():
            return
        raise NoCredentials(uri, missing, f"the profile {profile!r} of AWS_PROFILE does not exist")
    of_pod = [name for name in TOKEN_OF_POD if not os.environ.get(name)]
    if not of_pod:
        return
    if len(of_pod) < len(TOKEN_OF_POD):
        raise NoCredentials(uri, missing, f"{of_pod[0]} is not set")
    if os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in {"true", "1", "yes"}:
        return
    if len(missing) == len(KEYS) and (_has_profile() or _has_metadata_service()):
        return
    raise NoCredentials(uri, missing)


def _check_endpoint(name: str, value: str) -> None:
    if not value:
        return
    try:
        parts = urlsplit(value)
        is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or "?" in value or "#" in value:
        raise InvalidEndpoint(name, value.rpartition("@")[2])


def _has_profile() -> bool:
    return any(path.is_file() for path in _profile_files())


def _profile_files() -> tuple[Path, Path]:
    credentials = os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials"
    config = os.environ.get("AWS_CONFIG_FILE") or Path.home() / ".aws" / "config"
    return Path(credentials), Path(config)


def _profiles() -> set[str]:
    """Return the names of profiles: the sections of both files, which the second one prefixes with `profile`."""
    files = ConfigParser(interpolation=None, strict=False)
    with suppress(ConfigParserError, UnicodeDecodeError):
        files.read(_profile_files(), encoding="utf-8")
    return {name.removeprefix("profile ").strip() for name in files.sections()}


def _has_metadata_service() -> bool:
    """Return whether the metadata service gives out a token (IMDSv2): a proxy may answer for any address."""
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return False
    address = urlsplit(os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or METADATA_SERVICE)
    connection = HTTPConnection(address.hostname or "", address.port or 80, timeout=CONNECT_S)
    try:
        connection.request("PUT", "/latest/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
