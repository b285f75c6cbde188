"""The connection of a blocking admin client: an `AdminClient` in a thread with an event loop."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.admin_client import AdminClient
from kwire.client.loop_thread import BlockingClient

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin.targets import SentCommand
    from kwire.client.connection_config import ConnectionConfig
    from kwire.protocol.negotiated_versions import Dialect


class BlockingSession(BlockingClient[AdminClient]):
    """A cluster to administer without asyncio, from its connection to `close`."""

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        *,
        client_id: str | None = "kwire-admin",
        timeout: float = 30.0,
        config: ConnectionConfig | None = None,
    ) -> None:
        opening = AdminClient.open(bootstrap, client_id=client_id, timeout=timeout, config=config)
        super().__init__("kwire-admin", opening)

    @property
    def dialect(self) -> Dialect:
        """`kafka`, or `kip4` for the drafts."""
        return self.client.dialect

    @property
    def timeout(self) -> float:
        """See `AdminClient.timeout`."""
        return self.client.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self.client.timeout = seconds

    @property
    def commands(self) -> Sequence[SentCommand]:
        """See `AdminClient.commands`."""
        return self.client.commands
