"""`kafka zookeeper decode`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from kwire._util.readable import time_text
from kwire.declare.secrets import is_secret_config
from kwire.uuids import uuid_to_text
from kwire_admin.operations.config_journal import HIDDEN
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Argument, InvalidArgument, NotFound, Option, Syntax
from kwire_admin.operations.run import Run
from kwire_cluster.zookeeper.errors import NoNode, ZnodeError
from kwire_zookeeper_tools.verbs.zookeeper.show import ZOOKEEPER, open_store

if TYPE_CHECKING:
    from kwire_cluster.zookeeper import Store, Znode

_NAME = "(?:[.]{0,2}[^/.\\x00][^/\\x00]*|[.]{3}[^/\\x00]*)"
"""Name of a znode, which is neither `.` nor `..`."""
PATH = Syntax(f"/(?:{_NAME}(?:/{_NAME})*)?", "a path of ZooKeeper: write /NAME/NAME, such as /brokers/ids/1")
MAX_CHILDREN = 1000
"""Maximum number of children that are listed. Chosen, not measured."""
NOTES = frozenset({"unknown", "invalid", "warnings"})
"""Fields that are shown only if there are some: keys and values that kwire does not know."""
MAX_TEXT = 10_000
"""Maximum number of characters of data that kwire cannot decode."""


@dataclass(frozen=True, slots=True)
class ZnodeField:
    """A part of a znode.

    Attributes:
        field: the name of the field, or of a fact about the znode: `znode`, `written by`, `changes`, `modified`,
            `session` of an ephemeral znode, `children`, or `data` that kwire cannot decode.
        value: the value as text, JSON for a list or an object; None if it is not set.
    """

    field: str
    value: str | None


@operation(
    connects=lambda arguments: arguments["zookeeper"] is None,
    examples=(
        "zookeeper decode /brokers/topics/orders",
        "zookeeper decode /controller --zookeeper zk-1:2181,zk-2:2181/kafka",
    ),
)
async def decode(
    run: Run,
    path: Annotated[str, Argument("The path of the znode below the chroot.", "PATH", syntax=PATH)],
    zookeeper: Annotated[
        str | None,
        Option("The ZooKeeper of the cluster [default: as a broker reports it].", "HOST:PORT,...", syntax=ZOOKEEPER),
    ] = None,
) -> Rows[ZnodeField]:
    """Decode a znode: its fields, who writes it, when it was changed, and its children.

    The page of all znodes in the documentation explains the fields. Credentials and secrets are hidden.
    """
    path = PATH.match(path).string
    store = await open_store(run, zookeeper)
    try:
        znode = await store.get(path)
        children = sorted(await store.children(path)) if znode.stat.children_count else []
        return [*_facts(path, znode), *_fields(path, znode), *_listed(children)]
    except NoNode:
        raise NotFound(f"there is no znode {path}{await _nearest(store, path)}") from None
    except ZnodeError as error:
        raise InvalidArgument(f"malformed znode: {error}") from None
    except ValueError as error:  # a path that ZooKeeper does not accept
        raise InvalidArgument(str(error)) from None
    finally:
        await store.close()


async def _nearest(store: Store, path: str) -> str:
    """Return the children of the nearest parent that exists, as the end of an error."""
    parent = path
    while parent != "/":
        parent = parent.rpartition("/")[0] or "/"
        try:
            names = sorted(await store.children(parent))
        except NoNode:
            continue
        return f": {parent} has {', '.join(names[:20]) or 'no children'}{', ...' if len(names) > 20 else ''}"
    return ""


def _facts(path: str, znode: Znode) -> list[ZnodeField]:
    from kwire_zookeeper_tools.znode_kinds import find_znode_kind

    kind, stat = find_znode_kind(path), znode.stat
    rows = [] if kind is None else [ZnodeField("znode", kind.path), ZnodeField("written by", kind.written_by)]
    rows += [ZnodeField("changes", str(stat.version)), ZnodeField("modified", time_text(stat.mtime))]
    if stat.ephemeral_owner:
        rows.append(ZnodeField("session", f"{stat.ephemeral_owner:#x}"))
    return rows


def _fields(path: str, znode: Znode) -> list[ZnodeField]:
    """Return the fields of the data, or raise ZnodeError."""
    from kwire_zookeeper_tools.znode_kinds import find_znode_kind

    kind = find_znode_kind(path)
    if kind is not None and kind.example is not None:
        fields = kind.decode(znode.data, path).items()
        return [
            ZnodeField(name, _text(_without_secrets(value))) for name, value in fields if value or name not in NOTES
        ]
    if not znode.data:
        return []
    text = znode.data.decode("utf-8", "backslashreplace")
    with suppress(ValueError, RecursionError):  # data of another program
        text = json.dumps(_without_secrets(json.loads(text)))
    return [ZnodeField("data", text[:MAX_TEXT])]


def _listed(children: list[str]) -> list[ZnodeField]:
    if not children:
        return []
    rest = f", and {len(children) - MAX_CHILDREN} more" if len(children) > MAX_CHILDREN else ""
    return [ZnodeField("children", f"{', '.join(children[:MAX_CHILDREN])}{rest}")]


def _without_secrets(value: Any) -> Any:
    """Return a value with JSON types, and with secrets hidden: SCRAM credentials, and passwords of brokers."""
    if isinstance(value, Mapping):
        return {str(name): HIDDEN if _is_secret(str(name)) else _without_secrets(item) for name, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return _without_secrets(asdict(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _without_secrets({name: item for name, item in value._asdict().items() if name != "unknown" or item})
    if isinstance(value, (list, tuple)):
        return [*map(_without_secrets, value)]
    if isinstance(value, UUID):
        return uuid_to_text(value)
    if isinstance(value, Exception):  # a warning about the data
        return str(value)
    return value.value if isinstance(value, Enum) else value


def _is_secret(name: str) -> bool:
    return name.startswith("SCRAM-SHA-") or is_secret_config(name)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
