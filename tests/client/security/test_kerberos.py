"""Kerberos credentials on a machine without Kerberos."""

from __future__ import annotations

import sys

import pytest

from kwire.client.security import KerberosCredentials
from kwire.protocol import Endpoint
from kwire.protocol.sasl import SaslError


async def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(SaslError, match=r"GSSAPI needs the package gssapi: pip install 'kwire\[kerberos\]'"):
        await KerberosCredentials(service="kafka").start(Endpoint("broker-1", 9093))
