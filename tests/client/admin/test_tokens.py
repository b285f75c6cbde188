"""Secrets of delegation tokens as arguments."""

from __future__ import annotations

from typing import Any

import pytest

from kwire._util.secret import Secret
from kwire.client.admin import AdminClient
from tests.client.admin.test_cluster_router import Script, run


@pytest.mark.parametrize("operation", ["renew_delegation_token", "expire_delegation_token"])
@pytest.mark.parametrize("text", ["aGlkZGVu-_", "aGlk ZGVu", "aGlkZGVu!", "aGlkZGV", "é"])
async def test_secret_that_is_not_base64_is_neither_sent_nor_shown(operation: str, text: str) -> None:
    script = Script()

    async def call(admin: AdminClient) -> Any:
        return await getattr(admin, operation)(Secret(text))

    with pytest.raises(ValueError, match="the secret of a token must be base64") as error:
        await run("kafka", script, call)

    assert text not in str(error.value)
    assert script.broker is not None
    assert not [request for request in script.broker.received if "DelegationToken" in type(request).__name__]
