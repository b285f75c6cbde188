"""Runs of tools: `ToolRun` on the client and in a process of a node, `NodeRun` in the event loop of a node.

A run carries all that a tool may use beside its arguments, so tools read no environment, files, or terminal by
themselves, and work the same in a command and on a node.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from kwire.client.admin.errors import NotSupported
from kwire_admin.operations.declaration import ToolFailed
from kwire_admin.operations.parameters import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from kwire.client.admin import AdminClient
    from kwire.client.admin.cluster_router import ClusterRouter
    from kwire_cluster.node.requests.request_context import NodeServices
    from kwire_cluster.node.tools import Caller
    from kwire_cluster.zookeeper import BrokerRegistration, Store

__all__ = ["NO_CLUSTER", "Environment", "NodeRun", "ToolRun", "registered_brokers"]

CLIENT_ID = "kwire-tools"
"""Default client id of the connections of tools."""


READING = (
    *("active_", "describe_", "export_", "find_", "group_lags", "list_", "lowest_", "may_", "plan_"),
    *("recorded_", "registered_", "validate_"),
)
"""Beginnings of the names of operations that change nothing."""
ATTRIBUTES = frozenset({"backend", "close", "commands", "dialect", "open_another"})


@dataclass(frozen=True, slots=True)
class Environment:
    """The cluster and the files that a tool uses, unless its options name another cluster.

    Attributes:
        open_admin: opens a client of the cluster; None if there is none.
        open_zookeeper: opens a session with the ZooKeeper of the cluster; None if it is not known.
        folders: the folders that contain the files that the tool may use; None for all files.
        is_dry_run: True to answer changes of the cluster as it would, and to make none.
    """

    open_admin: Callable[[], Awaitable[AdminClient]] | None = None
    open_zookeeper: Callable[[], Awaitable[Store]] | None = None
    folders: tuple[Path, ...] | None = None
    is_dry_run: bool = False


NO_CLUSTER = Environment()
"""No cluster, unless options of the tool name one, and all files."""


class ToolRun:
    """One run of a tool. It closes what the tool has opened through it.

    It is open until `close`, which `tool_runner` calls once the tool has ended, however it ends. Sessions and clients
    are opened on first use, each at most once: of the cluster that an option of the tool names, otherwise of the
    environment. With a dry run as environment, no client changes anything, and ZooKeeper is refused.

    Args:
        environment: the environment of the tool.
        options: the values of the options that the needs of the tool have added, by name.
        write: receives the output.
    """

    def __init__(self, environment: Environment, options: Mapping[str, Any], write: Callable[[str], None]) -> None:
        self._environment = environment
        self._options = dict(options)
        self._write = write
        self._opened = AsyncExitStack()
        self._store: Store | None = None
        self._admin: AdminClient | None = None

    def write(self, text: str) -> None:
        """Write output as it is, without the end of a line."""
        self._write(text)

    def print(self, line: str = "") -> None:
        """Write one line of output."""
        self._write(f"{line}\n")

    async def close(self) -> None:
        """Close all sessions and connections."""
        await self._opened.aclose()

    async def zookeeper(self) -> Store:
        """Return a session with the ZooKeeper that `--zookeeper` names, or with the ZooKeeper of the cluster.

        Raises:
            InvalidArgument: no ZooKeeper is known.
            NotSupported: a dry run cannot know what the tool would write there.
            Unreachable: ZooKeeper does not answer.
        """
        if self._environment.is_dry_run:
            raise NotSupported("a dry run", "the tool works on ZooKeeper itself")
        return await self._zookeeper()

    async def _zookeeper(self) -> Store:
        if self._store is None:
            hosts = self._options.get("zookeeper")
            if hosts is not None:
                from kwire_cluster.zookeeper import connect

                self._store = await connect(hosts)
            elif self._environment.open_zookeeper is not None:
                self._store = await self._environment.open_zookeeper()
            else:
                raise InvalidArgument("name the ZooKeeper of the cluster: --zookeeper HOST:PORT")
            self._opened.push_async_callback(self._store.close)
        return self._store

    @property
    def names_zookeeper(self) -> bool:
        """True if `--zookeeper` is given."""
        return self._options.get("zookeeper") is not None

    @property
    def names_brokers(self) -> bool:
        """True if `--bootstrap-server` or `--command-config` is given."""
        return any(self._options.get(name) is not None for name in ("bootstrap_server", "command_config"))

    def use_zookeeper(self, hosts: str | None) -> None:
        """Use this ZooKeeper, which a file names, unless `--zookeeper` names one."""
        if hosts is not None and self._options.get("zookeeper") is None:
            self._options["zookeeper"] = hosts

    async def admin(self, client_id: str = CLIENT_ID) -> AdminClient:
        """Return a client of the brokers that `--bootstrap-server` or `--zookeeper` names, or of the cluster.

        Args:
            client_id: the client id of its connections, unless a file of client properties or a node opens them.

        Raises:
            InvalidArgument: no brokers are known.
            ConnectionFault: no broker answers.
        """
        if self._admin is None:
            self._admin = await self._open_admin(client_id)
            self._opened.push_async_callback(self._admin.close)
        if self._environment.is_dry_run:
            validating: Any = DryRunClient(self._admin)
            return cast("AdminClient", validating)
        return self._admin

    async def _open_admin(self, client_id: str) -> AdminClient:
        bootstrap, config = self._options.get("bootstrap_server"), self._options.get("command_config")
        if config is not None:
            return await self.connect(config, bootstrap)
        if bootstrap is not None:
            return await _connect(bootstrap, client_id=client_id)
        if self._options.get("zookeeper") is not None:
            return await _connect(await _broker_addresses(await self._zookeeper()), client_id=client_id)
        if self._environment.open_admin is not None:
            return await self._environment.open_admin()
        raise InvalidArgument("name some brokers of the cluster: --bootstrap-server HOST:PORT")

    async def connect_to(self, role: str, bootstrap: str | None, properties: Path | None) -> AdminClient:
        """Return a client for a cluster that a tool uses in a role such as `source`, which the caller closes.

        Raises:
            InvalidArgument: neither brokers nor a file are given. The other errors are those of `connect`.
        """
        if properties is not None:
            return await self.connect(properties, bootstrap)
        if bootstrap is None:
            raise InvalidArgument(f"name some brokers of the {role}: --{role} HOST:PORT")
        return await _connect(bootstrap)

    async def connect(self, properties: Path, bootstrap: str | None = None) -> AdminClient:
        """Return a client for a file of client properties, which the caller closes.

        Args:
            properties: the file, with `bootstrap.servers` unless `bootstrap` is given.
            bootstrap: the brokers, in place of those in the file.

        Raises:
            InvalidArgument: the file names no brokers.
            ToolFailed: the tool must not read the file.
            SecurityConfigError: the content of the file is invalid.
        """
        from kwire.client.security.client_properties import ClientProperties

        loaded = ClientProperties.load(self.file(properties))
        servers = bootstrap or loaded.bootstrap_servers
        if servers is None:
            raise InvalidArgument(f"{properties} has no bootstrap.servers")
        return await _connect(servers, loaded.connection)

    def properties(self, path: Path) -> dict[str, str]:
        """Return the content of a properties file.

        Raises:
            ToolFailed: the file cannot be read, or the tool must not read it.
        """
        from kwire._util.properties import parse_properties
        from kwire._util.text_files import EncodingError, read_properties

        try:
            return parse_properties(read_properties(self.file(path)))
        except (OSError, EncodingError) as error:
            raise ToolFailed(f"cannot read {path}: {getattr(error, 'strerror', error)}") from None

    def file(self, path: Path) -> Path:
        """Return the path of a file that the tool may read or write, without symbolic links.

        Raises:
            ToolFailed: the file is outside of the folders of tools.
        """
        resolved = path.resolve()
        folders = self._environment.folders
        if folders is not None and not any(resolved.is_relative_to(folder.resolve()) for folder in folders):
            allowed = ", ".join(map(str, folders)) or "none"
            raise ToolFailed(f"{path} is outside of the folders that tools may use here: {allowed}")
        return resolved


class DryRunClient:
    """An `AdminClient` whose changes are only validated, for dry runs of tools.

    A tool runs as always, with its checks, its lines, and its exit status. An operation that cannot be validated is
    refused, so a dry run never says more than it knows.

    Args:
        admin: the client of the cluster.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    @property
    def timeout(self) -> float:
        """Timeout in seconds of a request, as in `AdminClient`."""
        return self._admin.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._admin.timeout = seconds

    def __getattr__(self, name: str) -> Any:
        if name.startswith("wait_"):
            return _no_wait
        operation = getattr(self._admin, name)
        if name == "router":
            return DryRunRouter(operation)
        if name.startswith(READING) or name in ATTRIBUTES:
            return operation
        if not callable(operation) or "validate_only" not in signature(operation).parameters:
            raise NotSupported("a dry run", f"{name} cannot be checked without being done")
        # Also for a tool with a dry run of its own, which passes the argument.
        return lambda *arguments, **options: operation(*arguments, **{**options, "validate_only": True})


class DryRunRouter:
    """The router of a client, for reading only: functions of the client that read take a session with a router."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    def __getattr__(self, name: str) -> Any:
        if name in ("command", "send"):
            raise NotSupported("a dry run", "a request cannot be checked without being done")
        return getattr(self._router, name)


async def _no_wait(*_: Any, **__: Any) -> None:
    """Wait for nothing: no change was made."""


class NodeRun(ToolRun):
    """One run of a tool of nodes, in the event loop of the node, on its state and its session.

    It opens nothing: the environment names no cluster, and `store` is the node's session, which it must not close.

    Attributes:
        services: the parts of the node.
        caller: the user who runs it.
    """

    def __init__(self, services: NodeServices, caller: Caller, write: Callable[[str], None]) -> None:
        super().__init__(NO_CLUSTER, {}, write)
        self.services = services
        self.caller = caller

    @property
    def store(self) -> Store:
        """The session of the node with ZooKeeper."""
        session = self.services.metadata_updates.session
        assert session is not None, "a node runs tools only once it has had a session"
        return session.store

    async def print_json(self, value: Any) -> None:
        """Write a value as JSON, which can be as large as the settings of all topics."""
        import asyncio
        import json

        self.print(await asyncio.to_thread(json.dumps, value, indent=2, ensure_ascii=False))


async def _connect(bootstrap: str, config: Any = None, *, client_id: str = CLIENT_ID) -> AdminClient:
    from kwire.client.admin import AdminClient

    try:
        return await AdminClient.open(bootstrap, client_id=client_id, config=config)
    except ValueError as error:
        raise InvalidArgument(str(error)) from None


async def registered_brokers(store: Store) -> dict[int, BrokerRegistration]:
    """Return the live brokers, as they have registered in ZooKeeper, by id.

    Raises:
        ZnodeError: a registration cannot be read.
    """
    from kwire_cluster.zookeeper.brokers import BrokerRegistration
    from kwire_cluster.zookeeper.errors import NoNode
    from kwire_cluster.zookeeper.operations import Znode

    try:
        ids = [int(name) for name in await store.children("/brokers/ids")]
    except NoNode:
        return {}
    znodes = await store.get_many([BrokerRegistration.path(broker) for broker in ids])
    return {
        broker: BrokerRegistration.decode(znode.data, BrokerRegistration.path(broker))
        for broker, znode in zip(ids, znodes, strict=True)
        if isinstance(znode, Znode)
    }


async def _broker_addresses(store: Store) -> str:
    """Return the addresses of the live brokers, separated by commas, or raise ToolFailed."""
    brokers = await registered_brokers(store)
    if not brokers:
        raise ToolFailed("no broker is registered in /brokers/ids")
    return ",".join(f"{broker.endpoints[0].host}:{broker.endpoints[0].port}" for broker in brokers.values())
