"""An admin client for programs without asyncio: `AdminClient` in a thread with an event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from kwire.client.admin.admin_client import AdminClient

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from types import TracebackType
    from typing import Any

    from kwire.client.admin.cluster_router import SentCommand
    from kwire.client.connection_config import ConnectionConfig
    from kwire.protocol.negotiated_versions import Dialect

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    method: Callable[Concatenate[AdminClient, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingAdminClient, P], R]:
    def run(self: BlockingAdminClient, /, *arguments: P.args, **options: P.kwargs) -> R:
        return self._run(method(self._client, *arguments, **options))

    run.__name__, run.__qualname__ = method.__name__, f"BlockingAdminClient.{method.__name__}"
    run.__doc__ = method.__doc__
    return run


class BlockingAdminClient:
    """Administers a cluster. Use `with BlockingAdminClient(...)`, or `close` it.

    Arguments and errors are those of `AdminClient.open`.
    """

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        *,
        client_id: str | None = "kwire-admin",
        timeout: float = 30.0,
        config: ConnectionConfig | None = None,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kwire-admin", daemon=True)
        self._thread.start()
        try:
            self._client = self._run(AdminClient.open(bootstrap, client_id=client_id, timeout=timeout, config=config))
        except BaseException:
            self._end()
            raise

    create_topics = _blocking(AdminClient.create_topics)
    alter_topics = _blocking(AdminClient.alter_topics)
    delete_topics = _blocking(AdminClient.delete_topics)
    reassign_partitions = _blocking(AdminClient.reassign_partitions)
    cancel_reassignments = _blocking(AdminClient.cancel_reassignments)
    list_reassignments = _blocking(AdminClient.list_reassignments)
    describe_eligible_leaders = _blocking(AdminClient.describe_eligible_leaders)
    elect_leaders = _blocking(AdminClient.elect_leaders)
    list_offsets = _blocking(AdminClient.list_offsets)
    delete_records = _blocking(AdminClient.delete_records)
    list_groups = _blocking(AdminClient.list_groups)
    describe_groups = _blocking(AdminClient.describe_groups)
    delete_groups = _blocking(AdminClient.delete_groups)
    list_group_offsets = _blocking(AdminClient.list_group_offsets)
    list_share_group_offsets = _blocking(AdminClient.list_share_group_offsets)
    alter_share_group_offsets = _blocking(AdminClient.alter_share_group_offsets)
    delete_share_group_offsets = _blocking(AdminClient.delete_share_group_offsets)
    group_lags = _blocking(AdminClient.group_lags)
    alter_group_offsets = _blocking(AdminClient.alter_group_offsets)
    delete_group_offsets = _blocking(AdminClient.delete_group_offsets)
    describe_acls = _blocking(AdminClient.describe_acls)
    create_acls = _blocking(AdminClient.create_acls)
    delete_acls = _blocking(AdminClient.delete_acls)
    wait_until_acls = _blocking(AdminClient.wait_until_acls)
    describe_configs = _blocking(AdminClient.describe_configs)
    alter_configs = _blocking(AdminClient.alter_configs)
    export_configs = _blocking(AdminClient.export_configs)
    apply_configs = _blocking(AdminClient.apply_configs)
    recorded_config_changes = _blocking(AdminClient.recorded_config_changes)
    describe_log_dirs = _blocking(AdminClient.describe_log_dirs)
    alter_replica_log_dirs = _blocking(AdminClient.alter_replica_log_dirs)
    wait_for_log_dirs = _blocking(AdminClient.wait_for_log_dirs)
    describe_quorum = _blocking(AdminClient.describe_quorum)
    add_raft_voter = _blocking(AdminClient.add_raft_voter)
    remove_raft_voter = _blocking(AdminClient.remove_raft_voter)
    unregister_broker = _blocking(AdminClient.unregister_broker)
    describe_features = _blocking(AdminClient.describe_features)
    update_features = _blocking(AdminClient.update_features)
    wait_until_features = _blocking(AdminClient.wait_until_features)
    list_transactions = _blocking(AdminClient.list_transactions)
    describe_transactions = _blocking(AdminClient.describe_transactions)
    describe_producers = _blocking(AdminClient.describe_producers)
    find_hanging_transactions = _blocking(AdminClient.find_hanging_transactions)
    abort_transaction = _blocking(AdminClient.abort_transaction)
    describe_client_quotas = _blocking(AdminClient.describe_client_quotas)
    alter_client_quotas = _blocking(AdminClient.alter_client_quotas)
    wait_until_client_quotas = _blocking(AdminClient.wait_until_client_quotas)
    describe_user_scram_credentials = _blocking(AdminClient.describe_user_scram_credentials)
    alter_user_scram_credentials = _blocking(AdminClient.alter_user_scram_credentials)
    wait_until_user_scram_credentials = _blocking(AdminClient.wait_until_user_scram_credentials)
    create_delegation_token = _blocking(AdminClient.create_delegation_token)
    describe_delegation_tokens = _blocking(AdminClient.describe_delegation_tokens)
    renew_delegation_token = _blocking(AdminClient.renew_delegation_token)
    expire_delegation_token = _blocking(AdminClient.expire_delegation_token)
    run_tool = _blocking(AdminClient.run_tool)
    describe_cluster = _blocking(AdminClient.describe_cluster)
    registered_brokers = _blocking(AdminClient.registered_brokers)
    list_topics = _blocking(AdminClient.list_topics)
    list_topics_marked_for_deletion = _blocking(AdminClient.list_topics_marked_for_deletion)
    describe_topics = _blocking(AdminClient.describe_topics)
    wait_until_created = _blocking(AdminClient.wait_until_created)
    wait_until_deleted = _blocking(AdminClient.wait_until_deleted)
    wait_until_reassigned = _blocking(AdminClient.wait_until_reassigned)
    wait_until_configured = _blocking(AdminClient.wait_until_configured)
    wait_until_preferred = _blocking(AdminClient.wait_until_preferred)

    @property
    def dialect(self) -> Dialect:
        """`kafka`, or `kip4` for the drafts."""
        return self._client.dialect

    @property
    def commands(self) -> Sequence[SentCommand]:
        """See `AdminClient.commands`."""
        return self._client.commands

    def close(self) -> None:
        """Close the connections and end the thread. A second call does nothing."""
        if self._thread.is_alive():
            self._run(self._client.close())
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # interrupted by Ctrl-C
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
