"""The global configuration manager of KAFKA-1694: settings of all nodes and topics, through any node.

Settings of brokers are written to ZooKeeper by the node that is asked, settings of topics by the controller.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.errors import KwireError
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.strings import is_encodable_string
from kwire.messages.kip4.structures import ConfigEntry
from kwire_cluster.config.audit import TOPICS, read_audit
from kwire_cluster.config.live_config import Layer, check_change, find_setting
from kwire_cluster.config.setting import SettingError
from kwire_cluster.config.stored_configs import broker_entity, change_config, read_config
from kwire_cluster.config.topic_settings import TOPIC_SETTINGS
from kwire_cluster.controller.topic_names import is_possible_topic_name
from kwire_cluster.node.forwarding import forward_message
from kwire_cluster.node.metadata.metadata_cache import broker_endpoint
from kwire_cluster.zookeeper import BrokerRegistration
from kwire_cluster.zookeeper.configs import DEFAULT_ENTITY
from kwire_cluster.zookeeper.errors import NoNode, NotAuthorized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cluster.config.live_config import Effective
    from kwire_cluster.node.requests.request_context import NodeServices
    from kwire_cluster.node.tools import Caller
    from kwire_cluster.zookeeper import Store

TOOL = "config"
MAX_ID_DIGITS = 10
"""Digits of the highest id of a broker, 2**31 - 1."""
ASK_SECONDS = 5.0
"""Seconds to wait for what another node says about its own file."""


class ConfigRejected(KwireError):
    """A change of settings was not carried out, or only a part of it."""


class EntityChange(NamedTuple):
    """Changes of the settings of one entity.

    Attributes:
        entity: such as `brokers/<default>`, `brokers/1`, or `topics/orders`.
        changes: by setting, the text before and after; None if there is none.
    """

    entity: str
    changes: Mapping[str, tuple[str | None, str | None]]

    def to_json(self) -> dict[str, Any]:
        return {
            "entity": self.entity,
            "changes": {name: {"old": old, "new": new} for name, (old, new) in self.changes.items()},
        }


class ConfigManager:
    """Settings through this node, for a caller who is named in the audit."""

    def __init__(self, node: NodeServices, caller: Caller) -> None:
        self._node = node
        self._caller = caller

    @property
    def _store(self) -> Store:
        session = self._node.metadata_updates.session
        assert session is not None, "a node runs tools only once it has had a session"
        return session.store

    def describe(self, names: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Return effective settings of this node, with their layers; all settings without names.

        Raises:
            SettingError: a setting is unknown.
        """
        config = self._node.config
        return [_shown(config.explain(name)) for name in names or config.names()]

    async def check(self, changes: Mapping[str, str | None], broker: int | None) -> dict[str, Any]:
        """Check a change without making it. See `change`.

        Raises:
            SettingError: a setting or its value is invalid.
        """
        checked = _checked(changes, broker)
        shadowed = await self._shadowed(checked, broker)
        return {"entity": broker_entity(broker), "changes": sorted(checked), "shadowed_by": shadowed}

    async def change(
        self, changes: Mapping[str, str | None], *, broker: int | None = None, if_version: int | None = None
    ) -> dict[str, Any]:
        """Store settings of every broker, or of one, and say on which nodes a file is stronger.

        Args:
            changes: the new texts; None deletes a setting.
            broker: the broker; None for every broker.
            if_version: the version that the author has seen.

        Raises:
            SettingError: a setting or its value is invalid.
            ConfigConflict: someone else has changed the same settings meanwhile.
            StoreError: ZooKeeper cannot be written.
        """
        checked = _checked(changes, broker)
        entity = broker_entity(broker)
        written = await change_config(
            self._store,
            entity,
            checked,
            author=self._caller.author,
            node_id=self._node.settings.id,
            hide=frozenset(name for name in checked if find_setting(name)[0].is_secret),
            if_version=if_version,
        )
        shadowed = await self._shadowed(checked, broker)
        return {"entity": entity, "version": written.version, "changes": sorted(checked), "shadowed_by": shadowed}

    async def change_topic(self, topic: str, changes: Mapping[str, str | None]) -> dict[str, Any]:
        """Change settings of a topic, through the controller.

        Raises:
            ConfigRejected: the controller refused the change, or is not known.
            ForwardingRefused: the controller does not take changes for others from this node.
            ConnectionFault: the controller cannot be reached.
        """
        alteration = TopicAlteration(
            topic_name=topic,
            added_config_entries=tuple(
                ConfigEntry(config_key=name, config_value=text) for name, text in changes.items() if text is not None
            ),
            deleted_configs=tuple(name for name, text in changes.items() if text is None),
        )
        controller = self._node.controller_endpoint
        if controller is None:
            raise ConfigRejected("this node does not know the controller: try again later")
        request = AlterTopicRequest_V2(topics=(alteration,))
        caller = self._caller
        response = await forward_message(
            self._node.connections, controller, request, 2, caller.subject, caller.client_id
        )
        for result in response.topics:
            if result.error_code:
                raise ConfigRejected(f"topic {topic}: {ErrorCode(result.error_code).message}")
        return {"entity": f"topics/{topic}", "changes": sorted(changes)}

    async def export(self, may_describe: Callable[[str], bool]) -> dict[str, dict[str, dict[str, str]]]:
        """Return what is stored for all brokers and topics, without secrets.

        Entities that cannot be read are under `errors`, by kind and name, with the reason.

        Args:
            may_describe: returns whether an entity, such as `topics/orders`, is part of the result.

        Raises:
            StoreError: ZooKeeper cannot be read.
        """
        stored: dict[str, dict[str, dict[str, str]]] = {"brokers": {}, "topics": {}}
        errors: dict[str, dict[str, str]] = {}
        for kind, entities in stored.items():
            for name in await self._children(f"/config/{kind}"):
                if not may_describe(f"{kind}/{name}"):
                    continue
                try:
                    read = await read_config(self._store, f"{kind}/{name}")
                except NotAuthorized as error:
                    errors.setdefault(kind, {})[name] = str(error)
                    continue
                if read.malformed is not None:
                    errors.setdefault(kind, {})[name] = str(read.malformed)
                if read.config.config:
                    entities[name] = dict(sorted(read.config.config.items()))
        return {**stored, "errors": errors} if errors else stored

    async def diff(self, wanted: Any) -> list[EntityChange]:
        """Return the changes that lead from what is stored to a document, as `export` returns it.

        An entity that the document does not name stays as it is; settings that a named entity lacks are deleted. A
        malformed one that it names is replaced.

        Raises:
            SettingError: the document is malformed, or a setting or its value is invalid.
            StoreError: ZooKeeper cannot be read.
        """
        planned = []
        for kind, entities in _checked_document(wanted).items():
            for name, values in entities.items():
                entity = f"{kind}/{name}"
                stored = (await read_config(self._store, entity)).config.config
                names = sorted(stored.keys() | values.keys())
                changes = {
                    name: (stored.get(name), values.get(name)) for name in names if stored.get(name) != values.get(name)
                }
                if changes:
                    planned.append(EntityChange(entity, changes))
        return planned

    async def apply(self, wanted: Any) -> list[EntityChange]:
        """Make what is stored equal to a document, entity by entity. See `diff`.

        Raises:
            ConfigRejected: a change failed; the error says which changes were made before.
        """
        made: list[EntityChange] = []
        for planned in await self.diff(wanted):
            kind, _, name = planned.entity.partition("/")
            changes = {key: new for key, (_, new) in planned.changes.items()}
            try:
                if kind == "topics":
                    await self.change_topic(name, changes)
                else:
                    await self.change(changes, broker=None if name == DEFAULT_ENTITY else int(name))
            except KwireError as error:
                done = ", ".join(change.entity for change in made) or "nothing"
                raise ConfigRejected(f"{planned.entity}: {error}; changed before: {done}") from error
            made.append(planned)
        return made

    async def audit(
        self, newest: int, may_describe: Callable[[str], bool], topic: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the newest changes, oldest first.

        Args:
            newest: the number of changes to read.
            may_describe: returns whether the changes of an entity are part of the result.
            topic: only changes of this topic.

        Raises:
            StoreError: ZooKeeper cannot be read.
        """
        return [
            {
                "timestamp": entry.timestamp,
                "author": entry.author,
                "node": entry.node_id,
                **EntityChange(entry.entity, entry.changes).to_json(),
            }
            for entry in await read_audit(self._store, newest, None if topic is None else f"{TOPICS}{topic}")
            if may_describe(entry.entity)
        ]

    async def _children(self, path: str) -> list[str]:
        try:
            return sorted(await self._store.children(path))
        except NoNode:
            return []

    async def _shadowed(self, names: Mapping[str, object], broker: int | None) -> list[dict[str, Any]]:
        """Return the nodes on which a stronger layer has one of these settings, and the nodes that do not answer."""
        request = AdminRequest(tool=TOOL, arguments=("describe", *names))
        own = self._node.settings.id
        ids = await self._registered_ids() if broker is None else [broker]
        asked = [node_id for node_id in ids if node_id != own]
        answers = await asyncio.gather(*(self._ask(node_id, request) for node_id in asked), return_exceptions=True)
        described: dict[int, Any] = dict(zip(asked, answers, strict=True))
        if broker in {None, own}:
            described[own] = self.describe(list(names))
        stored = Layer.DEFAULT if broker is None else Layer.BROKER
        stronger = {Layer.FILE} if stored is Layer.BROKER else {Layer.FILE, Layer.BROKER}
        shadowed: list[dict[str, Any]] = []
        for node_id, answer in sorted(described.items()):
            if isinstance(answer, BaseException):
                shadowed.append({"node": node_id, "error": str(answer) or type(answer).__name__})
            else:
                shadowed += [
                    {"node": node_id, "name": config["name"], "value": config["value"], "source": config["source"]}
                    for config in answer
                    if config["source"] in stronger
                ]
        return shadowed

    async def _registered_ids(self) -> list[int]:
        """Return the ids of the live brokers in ZooKeeper, because the metadata are perhaps incomplete."""
        names = await self._children(BrokerRegistration.root)
        return [int(name) for name in names if name.isascii() and name.isdigit()]

    async def _ask(self, broker: int, request: AdminRequest) -> Any:
        """Run a tool on another node.

        Raises:
            ConfigRejected: it is not registered, or the tool failed. The connection can raise other errors.
        """
        path = BrokerRegistration.path(broker)
        try:
            znode = await self._store.get(path)
        except NoNode:
            raise ConfigRejected(f"broker {broker} is not registered: it reads the settings when it starts") from None
        endpoint = broker_endpoint(BrokerRegistration.decode(znode.data, path).endpoints)
        async with asyncio.timeout(ASK_SECONDS):
            response = await self._node.connections.send(endpoint, request)
        if response.exit_status:
            raise ConfigRejected(response.output.decode().strip())
        return json.loads(response.output)


def _checked(changes: Mapping[str, str | None], broker: int | None) -> dict[str, str | None]:
    """Check changes, and return them with canonical names."""
    return {check_change(name, text, for_one_broker=broker is not None): text for name, text in changes.items()}


def _shown(effective: Effective) -> dict[str, Any]:
    setting = effective.setting
    return {
        "name": effective.name,
        "value": effective.shown,
        "source": effective.layer,
        "default": setting.default_text,
        "type": setting.type.expected,
        "level": setting.level,
        "live": setting.is_live,
        "secret": setting.is_secret,
        "shadowed": [
            {"source": layer, "value": "(hidden)" if setting.is_secret else text} for layer, text in effective.shadowed
        ],
        "help": setting.help,
    }


def _checked_document(wanted: Any) -> dict[str, dict[str, dict[str, str]]]:
    """Check a document, and return it with canonical names of settings."""
    if not isinstance(wanted, dict) or not wanted.keys() <= {"brokers", "topics", "errors"}:
        raise SettingError("document", "", 'expected {"brokers": {...}, "topics": {...}}')
    wanted = {kind: entities for kind, entities in wanted.items() if kind != "errors"}  # what `export` could not read
    checked: dict[str, dict[str, dict[str, str]]] = {}
    for kind, entities in wanted.items():
        if not isinstance(entities, dict):
            raise SettingError(kind, "", "expected an object of entities")
        checked[kind] = {name: _checked_entity(kind, name, values) for name, values in entities.items()}
    return checked


def _checked_entity(kind: str, name: str, values: Any) -> dict[str, str]:
    if not isinstance(values, dict) or not all(isinstance(text, str) for text in values.values()):
        raise SettingError(f"{kind}/{name}", "", "expected an object of settings with texts as values")
    if kind == "topics":
        if not (is_possible_topic_name(name) and is_encodable_string(name)):
            raise SettingError(f"topics/{name[:100]}", "", "is not the name of a topic")
        for setting, text in values.items():
            if setting not in TOPIC_SETTINGS:
                raise SettingError(setting, text, f"unknown setting of topic {name}")
            TOPIC_SETTINGS[setting].parse(text)
        return values
    if name != DEFAULT_ENTITY and not (name.isascii() and name.isdigit() and len(name) <= MAX_ID_DIGITS):
        raise SettingError(f"{kind}/{name[:100]}", "", f"expected the id of a broker or {DEFAULT_ENTITY}")
    for_one = name != DEFAULT_ENTITY
    return {check_change(setting, text, for_one_broker=for_one): text for setting, text in values.items()}
