"""Preconditions of a location before it is used: credentials of S3.

Without credentials, delta-rs asks the metadata service of EC2 for some. Elsewhere its address does not answer, which
takes minutes and ends with an error about that address.
"""

from __future__ import annotations

import os
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from kwire.errors import KwireError

METADATA_SERVICE = "http://169.254.169.254"
"""The metadata service of EC2."""

CONNECT_S = 1.0
"""Seconds within which the metadata service answers: it is on the host of the virtual machine."""

OTHER_SOURCES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_PROFILE",
)
"""Environment variables that name other sources of credentials."""

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class NoCredentials(KwireError, PermissionError):
    """There are no credentials for a bucket.

    Attributes:
        uri: the location.
        missing: the environment variables that are not set.
    """

    def __init__(self, uri: str, missing: tuple[str, ...]) -> None:
        super().__init__(uri, missing)
        self.uri = uri
        self.missing = missing

    def __str__(self) -> str:
        if len(self.missing) == 1:
            return f"{self.uri}: no credentials: {self.missing[0]} is not set"
        return (
            f"{self.uri}: no credentials: {' and '.join(self.missing)} are not set, there is no profile in"
            " ~/.aws/credentials, and no metadata service of EC2; AWS_SKIP_SIGNATURE=true reads public buckets"
        )


def require_credentials(uri: str) -> None:
    """Check that there are credentials for a location of S3; others are not checked.

    Raises:
        NoCredentials: there are none.
    """
    if not uri.startswith("s3:"):
        return
    missing = tuple(name for name in KEYS if not os.environ.get(name))
    if not missing or any(os.environ.get(name) for name in OTHER_SOURCES):
        return
    if os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in {"true", "1", "yes"}:
        return
    if len(missing) == len(KEYS) and (_has_profile() or _has_metadata_service()):
        return
    raise NoCredentials(uri, missing)


def _has_profile() -> bool:
    credentials = os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or Path.home() / ".aws" / "credentials"
    config = os.environ.get("AWS_CONFIG_FILE") or Path.home() / ".aws" / "config"
    return Path(credentials).is_file() or Path(config).is_file()


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
