"""The tools `acls` and `users`: access control lists and the credentials of SCRAM, changed through any node.

Results are JSON. Exit status: 0 done, 1 failed, 2 invalid arguments. The audit of the tool `config` has the changes.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, get_args

from kwire.cluster.config.stored_acls import change_acls
from kwire.cluster.config.stored_configs import change_config, read_config
from kwire.cluster.node.config_manager import author
from kwire.cluster.node.config_tool import ToolParser
from kwire.cluster.node.tools import Requirement, UsageError
from kwire.cluster.security.acl_authorizer import AclOperation, Permission
from kwire.cluster.zookeeper.acls import CLUSTER_NAME, AclEntry, PatternType, ResourceAcls, ResourceType
from kwire.cluster.zookeeper.errors import NoNode
from kwire.errors import KwireError
from kwire.protocol.sasl_server import ScramCredential
from kwire.protocol.scram_passwords import HASHES

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import TextIO

    from kwire.cluster.node.request_context import NodeServices
    from kwire.cluster.node.tools import ToolContext
    from kwire.cluster.zookeeper.store import Store

__all__ = ["AclsTool", "UsersTool"]

OPERATIONS = (
    "All",
    "Read",
    "Write",
    "Create",
    "Delete",
    "Alter",
    "Describe",
    "ClusterAction",
    "DescribeConfigs",
    "AlterConfigs",
    "IdempotentWrite",
    "CreateTokens",
    "DescribeTokens",
)
"""As Kafka writes them."""


class _StoreTool(ABC):
    """A tool that works on ZooKeeper in the event loop of the node."""

    name: str

    def __init__(self, node: NodeServices, loop: asyncio.AbstractEventLoop) -> None:
        self._node = node
        self._loop = loop

    @property
    def _store(self) -> Store:
        session = self._node.metadata_updates.session
        assert session is not None, "a node runs tools only once it has had a session"
        return session.store

    def requirement(self, arguments: Sequence[str]) -> Requirement:
        """Return the permission to describe or to alter the cluster, as for Kafka's requests of this kind."""
        is_change = bool(arguments) and arguments[0] != "list"
        return Requirement(Permission(AclOperation.ALTER if is_change else AclOperation.DESCRIBE, "Cluster"))

    def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        """Run a command, and write its result as JSON."""
        del context
        parsed = self._parser().parse_args(arguments)
        try:
            result = asyncio.run_coroutine_threadsafe(self._execute(parsed), self._loop).result()
        except UsageError:
            raise
        except KwireError as error:
            output.write(f"{self.name}: {error}\n")
            return 1
        json.dump(result, output, indent=2, ensure_ascii=False)
        output.write("\n")
        return 0

    @abstractmethod
    def _parser(self) -> argparse.ArgumentParser:
        """Return the parser of the arguments."""

    @abstractmethod
    async def _execute(self, parsed: argparse.Namespace) -> Any:
        """Run a command, and return its result for JSON."""

    async def _children(self, path: str) -> list[str]:
        try:
            return sorted(await self._store.children(path))
        except NoNode:
            return []


class AclsTool(_StoreTool):
    """Lists, adds, and removes entries of access control lists."""

    name = "acls"
    help = "list, add, and remove entries of access control lists"

    def _parser(self) -> argparse.ArgumentParser:
        parser = ToolParser(prog=self.name)
        commands = parser.add_subparsers(dest="command", required=True, parser_class=ToolParser)
        commands.add_parser("list", help="all entries")
        for command in ("add", "remove"):
            changed = commands.add_parser(command)
            changed.add_argument("resource_type", choices=get_args(ResourceType))
            changed.add_argument("resource_name", help=f"{CLUSTER_NAME} for the cluster, * for all of the type")
            changed.add_argument("principal", help="such as User:alice")
            changed.add_argument("operation", choices=OPERATIONS)
            changed.add_argument("--pattern", choices=get_args(PatternType), default="literal")
            changed.add_argument("--host", default="*")
            changed.add_argument("--deny", action="store_true", help="deny instead of allow")
        return parser

    async def _execute(self, parsed: argparse.Namespace) -> Any:
        if parsed.command == "list":
            return [each async for each in self._entries()]
        if not parsed.resource_name or "/" in parsed.resource_name:
            raise UsageError(f"{parsed.resource_name[:100]!r} is not the name of a resource")
        kind, colon, name = parsed.principal.partition(":")
        if not (kind and colon and name):
            raise UsageError(f"expected <type>:<name>, found {parsed.principal[:100]!r}")
        entry = AclEntry(parsed.principal, "Deny" if parsed.deny else "Allow", parsed.operation, parsed.host)
        entries = await change_acls(
            self._store,
            parsed.resource_type,
            parsed.resource_name,
            parsed.pattern,
            add=[entry] if parsed.command == "add" else [],
            remove=[entry] if parsed.command == "remove" else [],
            author=author(),
            node_id=self._node.settings.id,
        )
        return [_shown(parsed.resource_type, parsed.resource_name, parsed.pattern, each) for each in entries]

    async def _entries(self) -> Any:
        for pattern_type in get_args(PatternType):
            for resource_type in get_args(ResourceType):
                parent = ResourceAcls.path(resource_type, "x", pattern_type).rpartition("/")[0]
                for name in await self._children(parent):
                    path = f"{parent}/{name}"
                    for entry in ResourceAcls.decode((await self._store.get(path)).data, path).acls:
                        yield _shown(resource_type, name, pattern_type, entry)


def _shown(resource_type: str, name: str, pattern_type: str, entry: AclEntry) -> dict[str, str]:
    return {
        "resource_type": resource_type,
        "resource_name": name,
        "pattern_type": pattern_type,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation,
        "permission_type": entry.permission_type,
    }


class UsersTool(_StoreTool):
    """Lists, sets, and deletes credentials of SCRAM. A password stays with the client, which derives the credential."""

    name = "users"
    help = "list, set, and delete credentials of SCRAM"

    def _parser(self) -> argparse.ArgumentParser:
        parser = ToolParser(prog=self.name)
        commands = parser.add_subparsers(dest="command", required=True, parser_class=ToolParser)
        commands.add_parser("list", help="users and their mechanisms, without credentials")
        for command in ("set", "delete"):
            changed = commands.add_parser(command)
            changed.add_argument("user")
            changed.add_argument("mechanism", choices=sorted(HASHES))
            if command == "set":
                changed.add_argument("credential", help="salt=...,stored_key=...,server_key=...,iterations=...")
        return parser

    async def _execute(self, parsed: argparse.Namespace) -> Any:
        if parsed.command == "list":
            users = {user: await self._mechanisms(user) for user in await self._children("/config/users")}
            return {user: mechanisms for user, mechanisms in users.items() if mechanisms}
        if not parsed.user or "/" in parsed.user or parsed.user == "<default>":
            raise UsageError(f"{parsed.user[:100]!r} is not the name of a user")
        credential = _checked(parsed.credential) if parsed.command == "set" else None
        await change_config(
            self._store,
            f"users/{parsed.user}",
            {parsed.mechanism: credential},
            author=author(),
            node_id=self._node.settings.id,
            hide=frozenset(HASHES),
        )
        return {parsed.user: await self._mechanisms(parsed.user)}

    async def _mechanisms(self, user: str) -> list[str]:
        return sorted((await read_config(self._store, f"users/{user}")).config.config.keys() & HASHES.keys())


def _checked(credential: str) -> str:
    try:
        return str(ScramCredential.parse(credential))
    except ValueError:
        raise UsageError("expected a credential as Kafka stores it: salt, stored_key, server_key, iterations") from None
