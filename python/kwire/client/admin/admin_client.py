"""An admin client for clusters of Apache Kafka and for clusters that implement the drafts of KIP-4.

Commands are asynchronous: success means that the cluster has accepted a command, and `wait_until_...` waits for its
completion. An error of one item is an AdminError in the outcomes; an error of the whole request is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Self

from kwire.client.admin import completion
from kwire.client.admin.acls import AclOperations
from kwire.client.admin.backend import strings_tuple
from kwire.client.admin.cluster_router import ClusterRouter
from kwire.client.admin.configs import ConfigOperations
from kwire.client.admin.eligible_leaders import EligibleLeaderOperations
from kwire.client.admin.features import FeatureOperations
from kwire.client.admin.groups import GroupOperations
from kwire.client.admin.hanging_transactions import HangingTransactionOperations
from kwire.client.admin.log_dirs import LogDirOperations
from kwire.client.admin.quorum import QuorumOperations
from kwire.client.admin.quotas import QuotaOperations
from kwire.client.admin.scram_users import ScramUserOperations
from kwire.client.admin.tokens import DelegationTokenOperations
from kwire.client.connection_pool import ConnectionPool
from kwire.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from types import TracebackType

    from kwire.client.admin.backend import Backend, Targets, Topics
    from kwire.client.admin.cluster_router import SentCommand
    from kwire.client.admin.completion import Condition, ProgressCallback
    from kwire.client.admin.topic_changes import NewTopic, TopicChange
    from kwire.client.admin.values import (
        ClusterDescription,
        Outcomes,
        ReassignmentStatus,
        ToolResult,
    )
    from kwire.client.connection_config import ConnectionConfig
    from kwire.protocol.negotiated_versions import Dialect


class AdminClient(
    GroupOperations,
    AclOperations,
    ConfigOperations,
    LogDirOperations,
    FeatureOperations,
    EligibleLeaderOperations,
    QuorumOperations,
    HangingTransactionOperations,
    QuotaOperations,
    ScramUserOperations,
    DelegationTokenOperations,
):
    """Administers a cluster. Use `async with await AdminClient.open(...)`, or `close` it.

    The client asks the cluster which dialect and versions it speaks. Requests that only read are repeated until the
    timeout. Commands are repeated only where that is harmless; otherwise a lost response is an OutcomeUnknown error.

    Every method raises ConnectionFault if no broker responds within the timeout, NoCommonVersion or NotSupported if the
    cluster lacks the operation, and ControllerNotFound if it needs a controller and there is none. A string in place of
    several strings is a TypeError.

    Attributes:
        dialect: `kafka`, or `kip4` for the drafts.
        open_another: opens another client of the same cluster, with connections of its own. It may be called in another
            thread, for an event loop of that thread.
    """

    def __init__(self, router: ClusterRouter, dialect: Dialect, open_another: Callable[[], Awaitable[Self]]) -> None:
        self._router = router
        self.dialect = dialect
        self.open_another = open_another
        self._backend = _backend(router, dialect)

    @classmethod
    async def open(
        cls,
        bootstrap: str | Iterable[str],
        *,
        client_id: str | None = "kwire-admin",
        timeout: float = 30.0,
        config: ConnectionConfig | None = None,
    ) -> Self:
        """Connect to a cluster.

        Args:
            bootstrap: bootstrap servers, as one comma-separated string or several `host:port` strings.
            client_id: the client id of all requests.
            timeout: seconds for a request with all its attempts.
            config: TLS and SASL of all connections; None for plaintext.

        Raises:
            ConnectionFault: no broker responds.
            ValueError: an address is invalid.
        """
        bootstrap = bootstrap if isinstance(bootstrap, str) else tuple(bootstrap)
        pool = ConnectionPool(client_id=client_id, timeout=timeout, config=config)
        router = ClusterRouter(Endpoint.parse_all(bootstrap), pool, timeout)
        try:
            open_another = partial(cls.open, bootstrap, client_id=client_id, timeout=timeout, config=config)
            return cls(router, await router.dialect(), open_another)
        except BaseException:
            await router.close()
            raise

    @property
    def router(self) -> ClusterRouter:
        """What finds the brokers of the cluster and sends requests to them."""
        return self._router

    @property
    def commands(self) -> Sequence[SentCommand]:
        """The requests that change something and were sent so far, for a caller that is interrupted."""
        return self._router.commands

    async def close(self) -> None:
        """Close all connections."""
        await self._router.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # Topics

    async def create_topics(self, topics: Mapping[str, NewTopic], *, validate_only: bool = False) -> Outcomes:
        """Create topics. The command is never repeated after a lost response.

        Errors of a topic on Kafka: 36 it exists already; 17, 37 to 40 invalid arguments. In the dialect of the drafts:
        1001 it exists already; 1002, 1004, 1005, 1006 invalid arguments; 1010 invalid name.

        Args:
            topics: the topics by name.
            validate_only: check the request and create nothing. The drafts do not support it.

        Raises:
            OutcomeUnknown: the response was lost. This applies to all commands that are not repeated.
        """
        return await self._backend.create_topics(topics, validate_only=validate_only)

    async def alter_topics(self, topics: Mapping[str, TopicChange], *, validate_only: bool = False) -> Outcomes:
        """Change topics.

        A cluster of the drafts changes configs, replicas, and partitions of a topic in one request. On Kafka they are
        requests of their own, in this order; the first error of a topic ends its changes, and its text says which
        changes were made before.

        Errors of a topic on Kafka: 3 unknown topic; 37 fewer partitions than before; 38 to 40 invalid arguments. In
        the dialect of the drafts: 3; 1003 fewer partitions; 1004 to 1006 invalid arguments; 1009 a reassignment is in
        progress.

        Args:
            topics: the changes by topic.
            validate_only: check the request and change nothing. The drafts do not support it, and Kafka cannot check
                changes of replicas.
        """
        return await self._backend.alter_topics(topics, validate_only=validate_only)

    async def delete_topics(self, names: Iterable[str]) -> Outcomes:
        """Delete topics. The command is never repeated after a lost response.

        Errors of a topic: 3 unknown topic; 1012 the topic is named twice (drafts).
        """
        return await self._backend.delete_topics(strings_tuple(names))

    async def list_topics(self) -> list[str]:
        """Return the sorted names of all topics, as one broker reports them."""
        return await self._backend.list_topics()

    async def list_topics_marked_for_deletion(self) -> list[str]:
        """Return the sorted names of topics that are being deleted, as the controller reports them.

        A deletion waits for the brokers of all replicas.

        Raises:
            NotSupported: the cluster is one of Apache Kafka, which does not report them to clients: its brokers leave
                such topics out of their metadata.
            AdminError: the controller cannot list them.
        """
        return await self._backend.list_topics_marked_for_deletion()

    async def describe_topics(self, names: Iterable[str] = (), *, configs: bool = False) -> Topics:
        """Return topics by name, as one broker reports them. An unknown topic is an AdminError with code 3.

        Args:
            names: the topics; all topics if there are none.
            configs: include the configs that each topic overrides. The drafts always include them.
        """
        return await self._backend.describe_topics(strings_tuple(names), configs=configs)

    # Partitions

    async def reassign_partitions(self, targets: Targets) -> Outcomes:
        """Move partitions to other brokers.

        The outcomes are by partition on Kafka (`orders-3`), which answers for each of them, and by topic in the
        dialect of the drafts. Errors on Kafka: 3 unknown partition; 39 invalid target. In the dialect of the drafts:
        3; 1005 invalid target; 1009 a reassignment is in progress.

        Args:
            targets: the new replicas by topic and partition, the preferred leader first.
        """
        return await self._backend.reassign_partitions(targets)

    async def cancel_reassignments(self, partitions: Mapping[str, Sequence[int]]) -> Outcomes:
        """Cancel reassignments. Errors: 85 no reassignment is in progress.

        Args:
            partitions: partitions by topic.
        """
        return await self._backend.cancel_reassignments(partitions)

    async def list_reassignments(self, targets: Targets | None = None) -> list[ReassignmentStatus]:
        """Return the status of reassignments.

        Args:
            targets: the reassignments, as for `reassign_partitions`; None for those in progress.
        """
        return await self._backend.list_reassignments(targets)

    async def elect_leaders(
        self, partitions: Mapping[str, Sequence[int]] | None = None, *, unclean: bool = False
    ) -> Outcomes:
        """Elect the preferred leaders of partitions.

        The outcomes are by partition on Kafka (`orders-3`), and by topic in the dialect of the drafts. A partition that
        needs no election is a success. Errors: 3 unknown partition; 80 the preferred leader is not available; 83 no
        replica can be elected; in the dialect of the drafts 1007 an election is in progress, 1008 a partition is named
        twice.

        Args:
            partitions: partitions by topic, with an empty sequence for all partitions of a topic; None for all topics.
            unclean: elect any live replica of a partition without leader. Messages can be lost.

        Raises:
            AdminError: a request for all topics was rejected.
        """
        return await self._backend.elect_leaders(partitions, unclean=unclean)

    # Cluster

    async def describe_cluster(self) -> ClusterDescription:
        """Return the live brokers and the controller, as one broker reports them."""
        return await self._router.describe_cluster()

    async def run_tool(self, name: str, arguments: Sequence[str] = (), *, broker_id: int | None = None) -> ToolResult:
        """Run a registered tool on a broker of the drafts' dialect, once: it is never repeated.

        Args:
            name: the name of the tool.
            arguments: its command line arguments.
            broker_id: the broker; None for any.

        Raises:
            AdminError: the broker has no such tool.
            BrokerNotFound: no live broker has this id.
        """
        return await self._backend.run_tool(name, strings_tuple(arguments), broker_id)

    # Waiting

    async def wait_until_created(
        self,
        topics: Iterable[str] | Mapping[str, int | NewTopic],
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until every broker reports these topics with a leader for each partition.

        Args:
            topics: the names of the topics, or a mapping to their numbers of partitions, or that of `create_topics`.
            timeout: seconds to wait.
            on_progress: called after each round of requests.

        Raises:
            ChangeTimeout: a broker does not report the change in time. This applies to all methods that wait.
            TypeError: a mapping has other values.
        """
        counts = topics if isinstance(topics, Mapping) else dict.fromkeys(strings_tuple(topics))
        conditions = {name: completion.is_created(completion.expected_count(each)) for name, each in counts.items()}
        await self._wait("created", conditions, timeout, on_progress)

    async def wait_until_deleted(
        self,
        names: Iterable[str],
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until no broker reports these topics. See `wait_until_created` for the other arguments."""
        conditions = dict.fromkeys(strings_tuple(names), completion.is_deleted)
        await self._wait("deleted", conditions, timeout, on_progress)

    async def wait_until_reassigned(
        self,
        targets: Mapping[str, Mapping[int, Sequence[int]]],
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until every broker reports the targets as replicas, all of them in sync."""
        conditions = {topic: completion.is_reassigned(partitions) for topic, partitions in targets.items()}
        await self._wait("reassigned", conditions, timeout, on_progress)

    async def wait_until_preferred(
        self,
        partitions: Mapping[str, Sequence[int]] | None = None,
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until preferred replicas lead. `partitions` is that of `elect_leaders`."""
        wanted: Mapping[str, Sequence[int]] = partitions or dict.fromkeys(await self.list_topics(), ())
        conditions = {topic: completion.has_preferred_leaders(indexes) for topic, indexes in wanted.items()}
        await self._wait("led by the preferred replicas", conditions, timeout, on_progress)

    async def wait_until_configured(
        self,
        configs: Mapping[str, Mapping[str, str | None]],
        *,
        timeout: float = 30.0,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        """Wait until every broker reports that topics override configs with these values.

        A broker of a Kafka cluster with ZooKeeper reports what ZooKeeper contains, which it may not apply yet.

        Args:
            configs: values by topic and name; None for a config that is not overridden.
        """
        conditions = {topic: completion.has_configs(each) for topic, each in configs.items()}
        await self._wait("configured", conditions, timeout, on_progress, configs=True)

    async def _wait(
        self,
        change: str,
        conditions: Mapping[str, Condition],
        timeout: float,
        on_progress: ProgressCallback | None,
        *,
        configs: bool = False,
    ) -> None:
        await completion.wait_until(
            self._router, self._backend, change, conditions, timeout, on_progress, configs=configs
        )


def _backend(router: ClusterRouter, dialect: Dialect) -> Backend:
    """Return the backend of a dialect. Only its messages are imported."""
    if dialect == "kip4":
        from kwire.client.admin.kip4_backend import Kip4Backend

        return Kip4Backend(router)
    from kwire.client.admin.kafka_backend import KafkaBackend

    return KafkaBackend(router)
