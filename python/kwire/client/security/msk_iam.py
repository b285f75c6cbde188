"""Amazon MSK's IAM access control: a signed request of AWS in place of a password.

The brokers of MSK have two SASL mechanisms for it, with the same signature (Signature Version 4, for the service
`kafka-cluster`). The token of `OAUTHBEARER` is a signed URL of the region. The message of `AWS_MSK_IAM` is a signed
request to the broker, as JSON. The package `botocore` (extra `msk`) finds the credentials where AWS's programs do:
environment, profile, container, or instance.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlsplit

from kwire._util.light_typing import TYPE_CHECKING, Any, Literal
from kwire._util.secret import Secret
from kwire.client.security.credentials import SaslCredentials
from kwire.protocol.sasl.mechanism import SaslError, SaslMechanism
from kwire.protocol.sasl.oauthbearer import OAuthBearerMechanism

if TYPE_CHECKING:
    from kwire.protocol.endpoint import Endpoint

SERVICE, ACTION = "kafka-cluster", "kafka-cluster:Connect"
VERSION = "2020_10_22"
"""The version of the message of AWS_MSK_IAM."""
LIFETIME_S = 900
"""Seconds for which a signature is valid: the longest time that MSK accepts."""
USER_AGENT = "kwire"
_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z]{2}[a-z0-9-]*-\d+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class MskIamCredentials(SaslCredentials):
    """The identity of AWS for Amazon MSK, through the package `botocore` (extra `msk`).

    Attributes:
        mechanism: `OAUTHBEARER` or `AWS_MSK_IAM`; clusters of MSK with IAM have both.
        region: the region of the cluster; None for the one in the name of the broker, or of the environment.
        profile: the profile of AWS's files; None for the usual search.
    """

    mechanism: Literal["OAUTHBEARER", "AWS_MSK_IAM"] = "OAUTHBEARER"
    region: str | None = None
    profile: str | None = None

    @property
    def sasl_mechanism(self) -> str:
        return self.mechanism

    async def start(self, endpoint: Endpoint) -> SaslMechanism:
        # Credentials may come from files, processes, and servers.
        return await asyncio.to_thread(self._start, endpoint)

    def _start(self, endpoint: Endpoint) -> SaslMechanism:
        session, errors = self._session()
        region = self.region or region_of(endpoint.server_name) or os.environ.get("AWS_REGION")
        try:
            region = region or session.get_config_variable("region")
            credentials = session.get_credentials()
            frozen = None if credentials is None else credentials.get_frozen_credentials()
        except errors as error:
            raise SaslError(f"AWS: {error}") from None
        if region is None:
            raise SaslError(f"the region of {endpoint} is unknown: set AWS_REGION")
        if frozen is None:
            raise SaslError("no credentials of AWS in the environment, a profile, or the instance")
        if self.mechanism == "OAUTHBEARER":
            url = f"{_sign(f'kafka.{region}.amazonaws.com', region, frozen)}&User-Agent={quote(USER_AGENT)}"
            return OAuthBearerMechanism(Secret(base64.urlsafe_b64encode(url.encode()).rstrip(b"=").decode()))
        host = endpoint.server_name
        return AwsMskIamMechanism(_message(host, _sign(host, region, frozen)))

    def _session(self) -> tuple[Any, type[Exception]]:
        """Return a session of botocore, and the class of its errors."""
        try:
            import botocore.exceptions
            import botocore.session
        except ImportError:
            raise SaslError("IAM of Amazon MSK needs the package botocore: pip install 'kwire[msk]'") from None
        errors: type[Exception] = botocore.exceptions.BotoCoreError
        return botocore.session.Session(profile=self.profile), errors


def region_of(host: str) -> str | None:
    """Return the region in the name of a broker of MSK; None for other names."""
    match = _HOST.search(host.lower())
    return match[1] if match else None


def _sign(host: str, region: str, credentials: Any) -> str:
    """Return the signed URL of a request to connect."""
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest

    url = f"https://{host}/?Action={quote(ACTION, safe='')}"
    request: Any = AWSRequest(method="GET", url=url)
    SigV4QueryAuth(credentials, SERVICE, region, expires=LIFETIME_S).add_auth(request)
    signed: str = request.url
    return signed


def _message(host: str, url: str) -> Secret:
    """Return the message of AWS_MSK_IAM for a signed URL: its parameters, with names in lower case."""
    parameters = {name.lower(): value for name, value in parse_qsl(urlsplit(url).query)}
    return Secret(json.dumps({"version": VERSION, "host": host, "user-agent": USER_AGENT, **parameters}))


class AwsMskIamMechanism(SaslMechanism):
    """Authenticate with a signed request of AWS."""

    __slots__ = ("_message", "_sent")

    def __init__(self, message: Secret) -> None:
        super().__init__("AWS_MSK_IAM", None)
        self._message = message
        self._sent = False

    def respond(self, challenge: bytes) -> bytes | None:
        del challenge  # the broker answers with the id of its request
        if not self._sent:
            self._sent = True
            return self._message.reveal().encode()
        self.is_complete = True
        return None
