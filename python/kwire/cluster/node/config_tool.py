"""The tool `config`: the global configuration manager on the command line of an Admin request.

Results are JSON. Exit status: 0 done, 1 failed, 2 invalid arguments, settings, or values, 4 someone else has changed
the same settings meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from kwire.cluster.config.setting import SettingError
from kwire.cluster.config.stored_configs import ConfigConflict
from kwire.cluster.node.settings.config_manager import TOOL
from kwire.cluster.node.tools import DESCRIBE, Requirement, UsageError
from kwire.cluster.security.acl_authorizer import AclOperation, Permission
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from typing import TextIO

    from kwire.cluster.node.settings.config_manager import ConfigManager
    from kwire.cluster.node.tools import Caller, ToolContext

CONFLICT = 4
MAX_ARGUMENTS = 1000
"""Maximum number of arguments. argparse takes quadratic time: 0.1 s for 1,000 options, but 3 s for 10,000. The parts of
the longest document that fits into a request are about 500."""

DESCRIBE_CLUSTER = Permission(AclOperation.DESCRIBE_CONFIGS, "Cluster")
DESCRIBE_TOPIC = Permission(AclOperation.DESCRIBE_CONFIGS, "Topic")


class ConfigTool:
    """Gets, sets, deletes, describes, exports, compares, and applies settings.

    Each topic that a command shows or changes requires the permission that a request for it alone requires.

    Args:
        manager: the settings.
    """

    name = TOOL
    help = "describe, set, delete, export, diff, and apply settings of brokers and topics; audit lists changes"

    def __init__(self, manager: ConfigManager) -> None:
        self._manager = manager

    def requirements(self, arguments: Sequence[str]) -> Sequence[Requirement]:
        """Return the permissions to describe or to alter configs: of topics, and for all other settings of the cluster.

        Invalid arguments require the least: a run with them only explains the usage.
        """
        try:
            parsed = _parser().parse(arguments)
            topics, others = _resources(parsed)
        except UsageError:
            return (Requirement(DESCRIBE_CLUSTER),)
        is_change = parsed.command in {"set", "delete"} or (parsed.command == "apply" and not parsed.dry_run)
        operation = AclOperation.ALTER_CONFIGS if is_change else AclOperation.DESCRIBE_CONFIGS
        cluster = [Requirement(Permission(operation, "Cluster"))] if others else []
        return [*cluster, *(Requirement(Permission(operation, "Topic"), topic) for topic in topics)]

    async def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        parsed = _parser().parse(arguments)
        try:
            result = await self._execute(parsed, context.caller)
        except SettingError as error:
            raise UsageError(str(error)) from None
        except ConfigConflict as error:
            output.write(f"{TOOL}: {error}\n")
            return CONFLICT
        except (KwireError, TimeoutError) as error:
            output.write(f"{TOOL}: {str(error) or type(error).__name__}\n")
            return 1
        output.write(await asyncio.to_thread(json.dumps, result, indent=2, ensure_ascii=False))
        output.write("\n")
        return 0

    def _execute(self, parsed: argparse.Namespace, caller: Caller) -> Coroutine[Any, Any, Any]:
        manager = self._manager
        match parsed.command:
            case "set":
                return self._change(parsed, dict.fromkeys(parsed.delete) | _assignments(parsed.assignments))
            case "delete":
                return self._change(parsed, dict.fromkeys(parsed.names))
            case "export":
                return manager.export(partial(_may_describe, caller))
            case "diff":
                return _as_json(manager.diff(_document(parsed.document)))
            case "apply":
                work = manager.diff if parsed.dry_run else manager.apply
                return _as_json(work(_document(parsed.document)))
            case "audit":
                return manager.audit(parsed.newest, partial(_may_describe, caller))
        return _returned(manager.describe, parsed.names)

    def _change(self, parsed: argparse.Namespace, changes: dict[str, str | None]) -> Coroutine[Any, Any, Any]:
        if parsed.topic is not None:
            if parsed.if_version is not None or parsed.dry_run:
                raise UsageError("--if-version and --dry-run are for settings of brokers")
            return self._manager.change_topic(parsed.topic, changes)
        if parsed.dry_run:
            return self._manager.check(changes, parsed.broker)
        return self._manager.change(changes, broker=parsed.broker, if_version=parsed.if_version)


def _resources(parsed: argparse.Namespace) -> tuple[list[str], bool]:
    """Return the topics that a command names, and whether it concerns anything else."""
    if parsed.command in {"diff", "apply"}:
        document = _document(parsed.document)
        topics = document.get("topics") if isinstance(document, dict) else None
        names = list(topics) if isinstance(topics, dict) else []
        return names, not names or document.keys() != {"topics"}
    topic: str | None = getattr(parsed, "topic", None)
    return ([], True) if topic is None else ([topic], False)


def _may_describe(caller: Caller, entity: str) -> bool:
    """Return whether a user may see the settings of an entity, such as `topics/orders`, and who has changed them."""
    kind, _, name = entity.partition("/")
    if kind == "topics":
        return caller.allows(DESCRIBE_TOPIC, name)
    return caller.allows(DESCRIBE_CLUSTER if kind == "brokers" else DESCRIBE)


async def _returned(function: Any, *arguments: Any) -> Any:
    """Call a function on the event loop."""
    return function(*arguments)


async def _as_json(changes: Coroutine[Any, Any, Any]) -> list[dict[str, Any]]:
    return [each.to_json() for each in await changes]


def _assignments(texts: Sequence[str]) -> dict[str, str | None]:
    """Parse `NAME=VALUE`. The name of an entry of a map may contain an equals sign between its brackets."""
    changes: dict[str, str | None] = {}
    for text in texts:
        bracket = text.rfind("]=")
        name, value = (text[: bracket + 1], text[bracket + 2 :]) if bracket >= 0 else _split(text)
        changes[name.strip()] = value.strip()
    return changes


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{text[:100]!r} is not of the form NAME=VALUE")
    return name, value


def _document(parts: Sequence[str]) -> Any:
    """Parse a JSON document. An argument holds at most 32,767 bytes, so a document may have several."""
    try:
        return json.loads("".join(parts))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the document is not JSON: {error}") from None


def _count(text: str) -> int:
    """Parse an integer of 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected an integer of 0 or more, found {text[:100]!r}")
    return int(text)


class ToolParser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of writing to the standard error of the node."""

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """Parse arguments.

        Raises:
            UsageError: they are invalid, or too many.
        """
        if len(arguments) > MAX_ARGUMENTS:
            raise UsageError(f"at most {MAX_ARGUMENTS:,} arguments are allowed, found {len(arguments):,}")
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def print_help(self, file: Any = None) -> None:
        del file
        raise UsageError(self.format_help())


def _parser() -> ToolParser:
    parser = ToolParser(prog=TOOL)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=ToolParser)
    described = commands.add_parser("describe", help="effective settings of the node that is asked, and their layers")
    described.add_argument("names", nargs="*")
    for name, arguments in (("set", "assignments"), ("delete", "names")):
        changed = commands.add_parser(name)
        changed.add_argument(arguments, nargs="+")
        entity = changed.add_mutually_exclusive_group()
        entity.add_argument("--broker", type=_count, help="one broker; every broker by default")
        entity.add_argument("--topic")
        changed.add_argument("--if-version", type=int, help="the version that you have seen")
        changed.add_argument("--dry-run", action="store_true", help="check only")
        if name == "set":
            changed.add_argument("--delete", action="append", default=[], metavar="NAME", help="delete this one")
    commands.add_parser("export", help="what is stored for all brokers and topics")
    for name in ("diff", "apply"):
        compared = commands.add_parser(name)
        compared.add_argument("document", nargs="+", help="what `export` prints, changed")
        if name == "apply":
            compared.add_argument("--dry-run", action="store_true")
    audited = commands.add_parser("audit", help="the newest changes, oldest first")
    audited.add_argument("--newest", type=_count, default=100)
    return parser
