"""What a tool works with while it runs: output, the cluster, and files."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from kwire.parameters import InvalidArgument
from kwire.tools.broker_addresses import broker_addresses
from kwire.tools.tool import ToolFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kwire.client.admin import AdminClient
    from kwire.client.security.client_properties import ClientProperties
    from kwire.cluster.zookeeper import Store
    from kwire.tools.environment import Environment

__all__ = ["ToolRun"]

logging.getLogger("kazoo").addHandler(logging.NullHandler())  # otherwise, each failed attempt would go to stderr


class ToolRun:
    """One run of a tool. It closes what the tool has opened through it.

    Args:
        environment: where the tool runs.
        options: the options that the needs of the tool have added, by name.
        write: receives the output.
    """

    def __init__(self, environment: Environment, options: Mapping[str, Any], write: Callable[[str], None]) -> None:
        self._environment = environment
        self._options = dict(options)
        self._write = write
        self._opened = AsyncExitStack()
        self._store: Store | None = None
        self._admin: AdminClient | None = None

    def print(self, line: str = "") -> None:
        """Write one line of output."""
        self._write(f"{line}\n")

    async def close(self) -> None:
        """Close all sessions and connections."""
        await self._opened.aclose()

    async def zookeeper(self) -> Store:
        """Return a session with the ZooKeeper that `--zookeeper` names, or that of the cluster.

        Raises:
            InvalidArgument: no ZooKeeper is known.
            Unreachable: ZooKeeper does not answer.
        """
        if self._store is None:
            hosts = self._options.get("zookeeper")
            if hosts is not None:
                from kwire.cluster.zookeeper import connect

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

    async def admin(self) -> AdminClient:
        """Return a client of the brokers that `--bootstrap-server` or `--zookeeper` names, or of the cluster.

        Raises:
            InvalidArgument: no brokers are known.
            ConnectionFault: no broker answers.
        """
        if self._admin is None:
            self._admin = await self._open_admin()
            self._opened.push_async_callback(self._admin.close)
        return self._admin

    async def _open_admin(self) -> AdminClient:
        bootstrap, config = self._options.get("bootstrap_server"), self._options.get("command_config")
        if bootstrap is not None:
            return await self._connect(bootstrap, None if config is None else self._loaded(config))
        if config is not None:
            return await self.connect(config)
        if self._options.get("zookeeper") is not None:
            return await self._connect(await broker_addresses(await self.zookeeper()), None)
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
        return await self._connect(bootstrap, None)

    async def connect(self, properties: Path, bootstrap: str | None = None) -> AdminClient:
        """Return a client for a file of client properties, which the caller closes.

        Args:
            properties: the file, with `bootstrap.servers`.
            bootstrap: the brokers, in place of those in the file.

        Raises:
            InvalidArgument: the file names no brokers.
            ToolFailed: the file may not be read.
            SecurityConfigError: the content of the file is invalid.
        """
        loaded = self._loaded(properties)
        servers = bootstrap or loaded.bootstrap_servers
        if servers is None:
            raise InvalidArgument(f"{properties} has no bootstrap.servers")
        return await self._connect(servers, loaded)

    def _loaded(self, properties: Path) -> ClientProperties:
        from kwire.client.security.client_properties import ClientProperties

        return ClientProperties.load(self.file(properties))

    async def _connect(self, bootstrap: str, properties: ClientProperties | None) -> AdminClient:
        from kwire.client.admin import AdminClient

        config = None if properties is None else properties.connection
        try:
            return await AdminClient.open(bootstrap, client_id="kwire-tools", config=config)
        except ValueError as error:
            raise InvalidArgument(str(error)) from None

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
