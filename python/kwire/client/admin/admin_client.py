"""An admin client for clusters of Apache Kafka and for clusters that implement the drafts of KIP-4.

Commands are asynchronous: success means that the cluster has accepted a command, and `wait_until_...` waits for its
completion. An error of one item is an AdminError in the outcomes; an error of the whole request is raised.
"""

from __future__ import annotations

from functools import partial

from kwire._util.late_names import LateModule
from kwire._util.light_typing import TYPE_CHECKING, Self
from kwire.client.admin.cluster_router import ClusterRouter
from kwire.client.admin.session import AdminSession, strings_tuple
from kwire.client.connection import MAX_RESPONSE_SIZE
from kwire.client.connection_config import ConnectionConfig
from kwire.client.connection_pool import ConnectionPool
from kwire.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from types import TracebackType

    from kwire.client.admin import (
        acls,
        config_plans,
        configs,
        features,
        group_lags,
        groups,
        hanging_transactions,
        log_dirs,
        offsets,
        partitions,
        quorum,
        quotas,
        scram_users,
        share_group_offsets,
        tokens,
        topics,
        transactions,
    )
    from kwire.client.admin.targets import SentCommand
    from kwire.client.admin.values import ClusterDescription, ToolResult
    from kwire.client.connection_config import ConnectionOptions
    from kwire.protocol.negotiated_versions import Dialect
else:
    # A client imports an operation when it is called for the first time: most programs call few of them.
    acls = LateModule("kwire.client.admin.acls")
    config_plans = LateModule("kwire.client.admin.config_plans")
    configs = LateModule("kwire.client.admin.configs")
    features = LateModule("kwire.client.admin.features")
    group_lags = LateModule("kwire.client.admin.group_lags")
    groups = LateModule("kwire.client.admin.groups")
    hanging_transactions = LateModule("kwire.client.admin.hanging_transactions")
    log_dirs = LateModule("kwire.client.admin.log_dirs")
    offsets = LateModule("kwire.client.admin.offsets")
    partitions = LateModule("kwire.client.admin.partitions")
    quorum = LateModule("kwire.client.admin.quorum")
    quotas = LateModule("kwire.client.admin.quotas")
    scram_users = LateModule("kwire.client.admin.scram_users")
    share_group_offsets = LateModule("kwire.client.admin.share_group_offsets")
    tokens = LateModule("kwire.client.admin.tokens")
    topics = LateModule("kwire.client.admin.topics")
    transactions = LateModule("kwire.client.admin.transactions")


class AdminClient(AdminSession):
    """Administers a cluster. Use `async with await AdminClient.open(...)`, or `close` it.

    The client asks the cluster which dialect and versions it speaks. Requests that only read are repeated until the
    timeout. Commands are repeated only where that is harmless; otherwise a lost response is an OutcomeUnknown error.

    Every method raises ConnectionFault if no broker responds within the timeout, NoCommonVersion or NotSupported if the
    cluster lacks the operation, and ControllerNotFound if it needs a controller and there is none. A string in place of
    several strings is a TypeError.

    Attributes:
        router: finds the brokers of the cluster and sends requests to them.
        dialect: `kafka`, or `kip4` for the drafts.
        open_another: opens another client of the same cluster, with connections of its own. It may be called in another
            thread, for an event loop of that thread.

    Examples:
        >>> import asyncio
        >>> async def broker_ids() -> list[int]:
        ...     async with await AdminClient.open("localhost:9092") as admin:
        ...         return [broker.id for broker in (await admin.describe_cluster()).brokers]
        >>> asyncio.run(broker_ids())
        [1]
    """

    def __init__(self, router: ClusterRouter, dialect: Dialect, open_another: Callable[[], Awaitable[Self]]) -> None:
        super().__init__(router, dialect)
        self.open_another = open_another

    @classmethod
    async def open(
        cls,
        bootstrap: str | Iterable[str],
        *,
        client_id: str | None = "kwire-admin",
        timeout: float = 30.0,
        max_size: int = MAX_RESPONSE_SIZE,
        config: ConnectionConfig | None = None,
        on_wait: Callable[[str], None] | None = None,
    ) -> Self:
        """Connect to a cluster.

        Bootstrap servers that refuse the connection, have an unknown name, or speak another protocol are not waited
        for: if all of them fail so, this raises at once. From the first answer on, brokers that restart are waited for.

        Args:
            bootstrap: bootstrap servers, as one comma-separated string or several `host:port` strings.
            client_id: the client id of all requests.
            timeout: seconds for a request with all its attempts.
            max_size: the largest response to accept, in bytes.
            config: TLS and SASL of all connections; None for plaintext.
            on_wait: called with a sentence about each request that has no answer after a second.

        Raises:
            ConnectionFault: no broker responds; the most telling error of the bootstrap servers.
            ValueError: an address is invalid.
        """
        bootstrap = bootstrap if isinstance(bootstrap, str) else tuple(bootstrap)
        connection: ConnectionOptions = {
            "client_id": client_id,
            "timeout": timeout,
            "max_size": max_size,
            "config": config,
        }
        protocol = ConnectionConfig.check(config).security_protocol
        router = ClusterRouter(Endpoint.parse_all(bootstrap, protocol), ConnectionPool(**connection), timeout, on_wait)
        try:
            open_another = partial(cls.open, bootstrap, **connection, on_wait=on_wait)
            return cls(router, await router.dialect(), open_another)
        except BaseException:
            await router.close()
            raise

    @property
    def commands(self) -> Sequence[SentCommand]:
        """The requests that change something and were sent so far, for a caller that is interrupted."""
        return self.router.commands

    @property
    def timeout(self) -> float:
        """Timeout in seconds of a request with all its attempts. It can be changed for later requests."""
        return self.router.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self.router.timeout = seconds

    async def close(self) -> None:
        """Close all connections."""
        await self.router.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Topics

    create_topics = topics.create_topics
    alter_topics = topics.alter_topics
    delete_topics = topics.delete_topics
    list_topics = topics.list_topics
    topic_listings = topics.topic_listings
    list_topics_marked_for_deletion = topics.list_topics_marked_for_deletion
    describe_topics = topics.describe_topics
    wait_until_created = topics.wait_until_created
    wait_until_deleted = topics.wait_until_deleted

    # Partitions

    reassign_partitions = partitions.reassign_partitions
    cancel_reassignments = partitions.cancel_reassignments
    list_reassignments = partitions.list_reassignments
    wait_until_reassigned = partitions.wait_until_reassigned
    elect_leaders = partitions.elect_leaders
    wait_until_preferred = partitions.wait_until_preferred
    describe_eligible_leaders = partitions.describe_eligible_leaders
    list_offsets = offsets.list_offsets
    delete_records = offsets.delete_records

    # Groups

    list_groups = groups.list_groups
    describe_groups = groups.describe_groups
    may_describe_group = groups.may_describe_group
    describe_groups_of_type = groups.describe_groups_of_type
    delete_groups = groups.delete_groups
    list_group_offsets = groups.list_group_offsets
    alter_group_offsets = groups.alter_group_offsets
    delete_group_offsets = groups.delete_group_offsets
    group_lags = group_lags.group_lags
    list_share_group_offsets = share_group_offsets.list_share_group_offsets
    alter_share_group_offsets = share_group_offsets.alter_share_group_offsets
    delete_share_group_offsets = share_group_offsets.delete_share_group_offsets

    # Transactions

    list_transactions = transactions.list_transactions
    describe_transactions = transactions.describe_transactions
    describe_producers = transactions.describe_producers
    terminate_transactions = transactions.terminate_transactions
    find_hanging_transactions = hanging_transactions.find_hanging_transactions
    abort_transaction = hanging_transactions.abort_transaction

    # Configs and quotas

    describe_configs = configs.describe_configs
    plan_config_change = config_plans.plan_config_change
    alter_configs = configs.alter_configs
    export_configs = configs.export_configs
    recorded_config_changes = configs.recorded_config_changes
    wait_until_configured = configs.wait_until_configured
    describe_client_quotas = quotas.describe_client_quotas
    alter_client_quotas = quotas.alter_client_quotas
    wait_until_client_quotas = quotas.wait_until_client_quotas

    # Security

    describe_acls = acls.describe_acls
    create_acls = acls.create_acls
    delete_acls = acls.delete_acls
    wait_until_acls = acls.wait_until_acls
    describe_user_scram_credentials = scram_users.describe_user_scram_credentials
    alter_user_scram_credentials = scram_users.alter_user_scram_credentials
    wait_until_user_scram_credentials = scram_users.wait_until_user_scram_credentials
    create_delegation_token = tokens.create_delegation_token
    describe_delegation_tokens = tokens.describe_delegation_tokens
    validate_delegation_token = tokens.validate_delegation_token
    renew_delegation_token = tokens.renew_delegation_token
    expire_delegation_token = tokens.expire_delegation_token

    # Cluster and brokers

    describe_log_dirs = log_dirs.describe_log_dirs
    describe_replica_log_dirs = log_dirs.describe_replica_log_dirs
    alter_replica_log_dirs = log_dirs.alter_replica_log_dirs
    wait_for_log_dirs = log_dirs.wait_for_log_dirs
    describe_api_versions = features.describe_api_versions
    describe_features = features.describe_features
    describe_features_of_brokers = features.describe_features_of_brokers
    lowest_safe_level = features.lowest_safe_level
    update_features = features.update_features
    wait_until_features = features.wait_until_features
    active_controller = quorum.active_controller
    describe_quorum = quorum.describe_quorum
    describe_quorum_at = quorum.describe_quorum_at
    add_raft_voter = quorum.add_raft_voter
    remove_raft_voter = quorum.remove_raft_voter
    registered_brokers = quorum.registered_brokers
    unregister_broker = quorum.unregister_broker
    unregister_controller = quorum.unregister_controller

    async def describe_cluster(self) -> ClusterDescription:
        """Return the live brokers and the controller, as one broker reports them."""
        return await self.router.describe_cluster()

    async def run_tool(self, name: str, arguments: Sequence[str] = (), *, broker_id: int | None = None) -> ToolResult:
        """Run a registered tool on a broker of the drafts' dialect, once: it is never repeated.

        Args:
            name: the name of the tool.
            arguments: its command line arguments.
            broker_id: the broker; None for any.

        Raises:
            AdminError: the broker has no such tool.
            BrokerNotFound: no live broker has this id.
            NotSupported: the cluster is Kafka.
        """
        from kwire.client.admin.kip4_tools import run_tool

        return await run_tool(self, name, strings_tuple(arguments), broker=broker_id)
