"""The tools `acls` and `users`: access control lists and the credentials of SCRAM, changed through any node.

Results are JSON. Exit status: 0 done, 1 failed, 2 invalid arguments. The audit of the tool `config` has the changes.
`list` reads ZooKeeper; `list --applied` returns what this node has taken over from there, if it uses it at all. What
cannot be read is listed with an `error`.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kwire.cluster.config.stored_acls import change_acls
from kwire.cluster.config.stored_configs import change_config, read_config
from kwire.cluster.node.config_tool import ToolParser
from kwire.cluster.node.settings.config_manager import author
from kwire.cluster.node.tools import Requirement, UsageError
from kwire.cluster.security.acl_authorizer import AclOperation, Permission, ResourcePattern
from kwire.cluster.zookeeper.acls import CLUSTER_NAME, PATTERN_TYPES, RESOURCE_TYPES, AclEntry, ResourceAcls
from kwire.cluster.zookeeper.configs import DEFAULT_ENTITY, EntityConfig, desanitize, sanitize
from kwire.cluster.zookeeper.errors import NoNode, NotAuthorized, ZnodeError
from kwire.cluster.zookeeper.store import check_path
from kwire.errors import KwireError
from kwire.protocol.sasl_server import ScramCredential
from kwire.protocol.scram_passwords import HASHES

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable, Sequence
    from typing import TextIO

    from kwire.cluster.node.requests.request_context import NodeServices
    from kwire.cluster.node.tools import ToolContext
    from kwire.cluster.security.scram_users import ScramUsers
    from kwire.cluster.zookeeper.store import ReadResult, Store

__all__ = ["AclsTool", "UsersTool"]

OPERATIONS = tuple(
    each.camel_case
    for each in AclOperation
    if each.code > AclOperation.ANY.code and each is not AclOperation.TWO_PHASE_COMMIT
)
"""The operations of Kafka 3.9, the last version with ZooKeeper, as it writes them."""
USERS = "/config/users"
FORBIDDEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\uf8ff\\ufff0-\\uffff]")
"""What ZooKeeper does not accept in a path."""
READ_AT_ONCE = 500
"""Znodes that are requested and decoded in one step."""


class _StoreTool(ABC):
    """A tool that works on ZooKeeper in the event loop of the node."""

    name: str

    def __init__(self, node: NodeServices) -> None:
        self._node = node

    @property
    def _store(self) -> Store:
        session = self._node.metadata_updates.session
        assert session is not None, "a node runs tools only once it has had a session"
        return session.store

    def requirements(self, arguments: Sequence[str]) -> Sequence[Requirement]:
        """Return the permission to describe or to alter the cluster, as for Kafka's requests of this kind."""
        is_change = bool(arguments) and arguments[0] != "list"
        return (Requirement(Permission(AclOperation.ALTER if is_change else AclOperation.DESCRIBE, "Cluster")),)

    async def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        """Run a command, and write its result as JSON."""
        del context
        parsed = self._parser().parse(arguments)
        try:
            result = await self._execute(parsed)
        except UsageError:
            raise
        except KwireError as error:
            output.write(f"{self.name}: {error}\n")
            return 1
        output.write(await asyncio.to_thread(json.dumps, result, indent=2, ensure_ascii=False))
        output.write("\n")
        return 0

    @abstractmethod
    def _parser(self) -> ToolParser:
        """Return the parser of the arguments."""

    @abstractmethod
    async def _execute(self, parsed: argparse.Namespace) -> Any:
        """Run a command, and return its result for JSON."""

    async def _read_children(self, parent: str) -> AsyncIterator[tuple[str, ReadResult]]:
        """Read the children of a znode as they are now, in order."""
        await self._store.sync(parent)
        try:
            names = sorted(await self._store.children(parent))
        except NoNode:
            return
        for start in range(0, len(names), READ_AT_ONCE):
            part = names[start : start + READ_AT_ONCE]
            for name, znode in zip(part, await self._store.get_many(f"{parent}/{name}" for name in part), strict=True):
                if znode is not None:
                    yield name, znode


class AclsTool(_StoreTool):
    """Lists, adds, and removes entries of access control lists."""

    name = "acls"
    help = "list, add, and remove entries of access control lists"

    def _parser(self) -> ToolParser:
        parser = ToolParser(prog=self.name)
        commands = parser.add_subparsers(dest="command", required=True, parser_class=ToolParser)
        commands.add_parser("list", help="all entries").add_argument("--applied", action="store_true")
        for command in ("add", "remove"):
            changed = commands.add_parser(command)
            changed.add_argument("resource_type", choices=RESOURCE_TYPES)
            changed.add_argument("resource_name", help=f"{CLUSTER_NAME} for the cluster, * for all of the type")
            changed.add_argument("principal", help="such as User:alice")
            changed.add_argument("operation", choices=OPERATIONS if command == "add" else None)
            changed.add_argument("--pattern", choices=PATTERN_TYPES, default="literal")
            changed.add_argument("--host", default="*")
            changed.add_argument("--deny", action="store_true", help="deny instead of allow")
        return parser

    async def _execute(self, parsed: argparse.Namespace) -> Any:
        if parsed.command == "list":
            authorizer = self._node.authorizer
            if parsed.applied and authorizer is not None:
                return [row for pattern, entries in authorizer.entries().items() for row in _rows(pattern, entries)]
            return [row async for row in self._stored_rows()]
        _check_name(parsed.resource_name, ResourceAcls.path("Topic", parsed.resource_name), "a resource")
        if parsed.resource_type == "Cluster" and (parsed.resource_name, parsed.pattern) != (CLUSTER_NAME, "literal"):
            raise UsageError(f"the only resource of the type Cluster is the literal name {CLUSTER_NAME}")
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
        return _rows(ResourcePattern(parsed.resource_type, parsed.resource_name, parsed.pattern), entries)

    async def _stored_rows(self) -> AsyncIterator[dict[str, str]]:
        for pattern_type in PATTERN_TYPES:
            for resource_type in RESOURCE_TYPES:
                parent = ResourceAcls.path(resource_type, "x", pattern_type).rpartition("/")[0]
                async for name, znode in self._read_children(parent):
                    pattern = ResourcePattern(resource_type, name, pattern_type)
                    try:
                        entries = ResourceAcls.decode(_data(znode), f"{parent}/{name}").acls
                    except (ZnodeError, NotAuthorized) as error:
                        yield _named(pattern) | {"error": str(error)}
                        continue
                    for row in _rows(pattern, entries):
                        yield row


def _rows(pattern: ResourcePattern, entries: Iterable[AclEntry] | None) -> list[dict[str, str]]:
    """Return a row for each entry of a resource. With None, they cannot be read."""
    if entries is None:
        return [_named(pattern) | {"error": "the znode cannot be read, so only super users may use the resource"}]
    return [
        _named(pattern)
        | {
            "principal": entry.principal,
            "host": entry.host,
            "operation": entry.operation,
            "permission_type": entry.permission_type,
        }
        for entry in entries
    ]


def _named(pattern: ResourcePattern) -> dict[str, str]:
    return {
        "resource_type": pattern.resource_type,
        "resource_name": pattern.name,
        "pattern_type": pattern.pattern_type,
    }


class UsersTool(_StoreTool):
    """Lists, sets, and deletes credentials of SCRAM. A password stays with the client, which derives the credential.

    Args:
        scram_users: the credentials that this node has taken over; None if it does not use SCRAM.
    """

    name = "users"
    help = "list, set, and delete credentials of SCRAM"

    def __init__(self, node: NodeServices, scram_users: ScramUsers | None = None) -> None:
        super().__init__(node)
        self._scram_users = scram_users

    def _parser(self) -> ToolParser:
        parser = ToolParser(prog=self.name)
        commands = parser.add_subparsers(dest="command", required=True, parser_class=ToolParser)
        listed = commands.add_parser("list", help="users with the iterations by mechanism, without credentials")
        listed.add_argument("--applied", action="store_true")
        for command in ("set", "delete"):
            changed = commands.add_parser(command)
            changed.add_argument("user")
            changed.add_argument("mechanism", choices=sorted(HASHES))
            if command == "set":
                changed.add_argument("credential", help="salt=...,stored_key=...,server_key=...,iterations=...")
        return parser

    async def _execute(self, parsed: argparse.Namespace) -> Any:
        if parsed.command == "list":
            if parsed.applied and self._scram_users is not None:
                users = sorted(self._scram_users.iterations().items())
                return [{"user": user, "credentials": iterations} for user, iterations in users]
            return [row async for row in self._stored_rows()]
        entity = f"users/{sanitize(parsed.user)}"
        _check_name(parsed.user, f"/config/{entity}", "a user")
        if parsed.command == "set":
            credential = _checked(parsed.credential)
        elif parsed.mechanism in (await read_config(self._store, entity)).config.config:
            credential = None
        else:
            raise UsageError(f"user {parsed.user[:100]!r} has no credential for {parsed.mechanism}")
        written = await change_config(
            self._store,
            entity,
            {parsed.mechanism: credential},
            author=author(),
            node_id=self._node.settings.id,
            hide=frozenset(HASHES),
        )
        return [_user_row(parsed.user, written.config)]

    async def _stored_rows(self) -> AsyncIterator[dict[str, Any]]:
        async for name, znode in self._read_children(USERS):
            if name == DEFAULT_ENTITY:
                continue
            user = desanitize(name)
            try:
                row = _user_row(user, EntityConfig.decode(_data(znode), f"{USERS}/{name}"))
            except ZnodeError as error:  # its reason may contain a credential
                yield {"user": user, "error": f"{error.path} is malformed"}
                continue
            except NotAuthorized as error:
                yield {"user": user, "error": str(error)}
                continue
            if row.get("credentials") != {}:
                yield row


def _user_row(user: str, config: EntityConfig) -> dict[str, Any]:
    iterations = {}
    for mechanism in sorted(HASHES.keys() & config.config.keys()):
        try:
            iterations[mechanism] = ScramCredential.parse(config.config[mechanism]).iterations
        except ValueError:
            return {"user": user, "error": f"the credential for {mechanism} is malformed"}
    return {"user": user, "credentials": iterations}


def _data(znode: ReadResult) -> bytes:
    """Return the data of a znode that exists, or raise the error of reading it."""
    if znode is None:
        return b""
    if isinstance(znode, NotAuthorized):
        raise znode
    return znode.data


def _check_name(name: str, path: str, kind: str) -> None:
    """Raise UsageError for a name that is not one part of a path of ZooKeeper."""
    error = UsageError(f"{name[:100]!r} is not the name of {kind}")
    if not name or path.count("/") != 3 or FORBIDDEN.search(path):
        raise error
    try:
        check_path(path)
    except ValueError:
        raise error from None


def _checked(credential: str) -> str:
    try:
        return str(ScramCredential.parse(credential))
    except ValueError:
        raise UsageError("expected a credential as Kafka stores it: salt, stored_key, server_key, iterations") from None
