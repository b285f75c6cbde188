"""The effective settings of a node, and the layer that each value comes from.

KAFKA-1694 defines the layers: first the node's own file, then what is stored in ZooKeeper for this broker, then
what is stored for every broker, then the default in the code. Kafka has another order, with the file last but one.
Values in ZooKeeper change while a node runs; `current` is replaced as a whole, so reading a value costs two look-ups.

A setting can be a map, as in `topic_security['pci','profile','dss'] = true` (KAFKA-1694). Each entry is stored under
its canonical name, so entries are set and deleted one by one.
"""

from __future__ import annotations

import ast
import re
from dataclasses import fields, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.config.node_settings import NodeSettings, node_settings
from kwire_cluster.config.setting import Level, Setting, SettingError
from kwire_cluster.config.value_types import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Effective", "Layer", "LiveConfig", "Stored", "check_change", "find_setting"]

MAX_NAME = 1000
"""Characters of the name of an entry."""

MAP_SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "topic_security",
            TEXT,
            help="Free-form facts about the security of topics, by any number of words. Nodes keep them for tools.",
            is_live=True,
        ),
    )
}

_ENTRY = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\s*\[(.+)\]", re.DOTALL)


class MapKey(NamedTuple):
    """An entry of a map: the setting, and the words between the brackets."""

    setting: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> MapKey | None:
        """Parse the name of an entry; None if it has no brackets.

        Raises:
            ValueError: the brackets contain other texts than quoted words.
        """
        match = _ENTRY.fullmatch(text.strip())
        if match is None:
            return None
        if len(text) > MAX_NAME:
            raise ValueError(f"the name of an entry has at most {MAX_NAME} characters")
        try:
            words = ast.literal_eval(f"({match[2]},)")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            words = ()
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError(f"expected quoted words between the brackets: {match[1]}['one','two']")
        return cls(match[1], words)

    def __str__(self) -> str:
        return f"{self.setting}[{','.join(map(repr, self.words))}]"


def entries_of(setting: str, values: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Return the entries of a map among stored values, by their words."""
    entries = {}
    for name, text in values.items():
        if name.startswith(f"{setting}["):
            key = MapKey.parse(name)
            if key is not None:
                entries[key.words] = text
    return entries


HIDDEN = "(hidden)"


class Layer(StrEnum):
    """Layers of values, the strongest first."""

    FILE = "file"
    """`server.properties`, or an option of the command line."""
    BROKER = "broker"
    """Stored for this broker."""
    DEFAULT = "default"
    """Stored for every broker."""
    CODE = "code"


class Stored(NamedTuple):
    """A text in one of the layers."""

    layer: Layer
    text: str


class Effective(NamedTuple):
    """The value of a setting on a node.

    Attributes:
        name: the name, canonical for the entry of a map.
        setting: the setting.
        text: the value; None if there is none.
        layer: the source of the value.
        shadowed: values of weaker layers.
    """

    name: str
    setting: Setting
    text: str | None
    layer: Layer
    shadowed: tuple[Stored, ...] = ()

    @property
    def shown(self) -> str | None:
        """The value for people, without secrets."""
        return HIDDEN if self.setting.is_secret and self.text is not None else self.text


class LiveConfig:
    """The layered settings of one node.

    Args:
        file: the settings of the node's own file. Attributes that differ from their defaults count as given there.

    Attributes:
        current: the effective settings.
    """

    def __init__(self, file: NodeSettings) -> None:
        self.current = file
        self._file = file
        self._given = {name: text for name, text in _given_texts(file).items() if text is not None}
        self._layers: dict[Layer, Mapping[str, str]] = {Layer.BROKER: {}, Layer.DEFAULT: {}}
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change of `current`."""
        self._listeners.append(listener)

    def set_stored(self, broker: Mapping[str, str], default: Mapping[str, str]) -> list[SettingError]:
        """Take over what ZooKeeper has, and return what was ignored because it is invalid, unknown, or read-only."""
        errors: list[SettingError] = []
        self._layers = {
            Layer.BROKER: _valid(broker, errors, for_one_broker=True),
            Layer.DEFAULT: _valid(default, errors, for_one_broker=False),
        }
        changes = {}
        for name, declared in node_settings().items():
            if name not in self._given and (text := self._stored_text(name)) is not None:
                changes[declared.attribute] = declared.parse(text)
        current = replace(self._file, **changes)
        if current != self.current:
            self.current = current
            for listener in self._listeners:
                listener()
        return errors

    def explain(self, name: str) -> Effective:
        """Return the effective value of a setting, or of an entry of a map.

        Raises:
            SettingError: the setting is unknown.
        """
        setting, name = find_setting(name)
        stored = [Stored(layer, text) for layer in Layer if (text := self._text(layer, name)) is not None]
        if not stored:
            return Effective(name, setting, setting.default_text, Layer.CODE)
        return Effective(name, setting, stored[0].text, stored[0].layer, tuple(stored[1:]))

    def names(self) -> list[str]:
        """Return the names of all settings, and of the entries of maps that exist."""
        entries = {name for layer in self._layers.values() for name in layer if "[" in name}
        return [*sorted(node_settings()), *sorted(entries)]

    def map(self, name: str) -> dict[tuple[str, ...], str]:
        """Return the entries of a map."""
        return entries_of(name, self._layers[Layer.DEFAULT]) | entries_of(name, self._layers[Layer.BROKER])

    def _text(self, layer: Layer, name: str) -> str | None:
        return (self._given if layer is Layer.FILE else self._layers.get(layer, {})).get(name)

    def _stored_text(self, name: str) -> str | None:
        text = self._layers[Layer.BROKER].get(name)
        return self._layers[Layer.DEFAULT].get(name) if text is None else text


def find_setting(name: str) -> tuple[Setting, str]:
    """Return a setting of nodes and its name, canonical for the entry of a map.

    Raises:
        SettingError: the setting is unknown; the error suggests similar ones.
    """
    try:
        key = MapKey.parse(name)
    except ValueError as error:
        raise SettingError(name[:100], "", str(error)) from None
    if key is not None and key.setting in MAP_SETTINGS:
        return MAP_SETTINGS[key.setting], str(key)
    settings = node_settings()
    if name in settings:
        return settings[name], name
    if name in MAP_SETTINGS:
        raise SettingError(name, "", f"this setting is a map: name an entry, {name}['one','two']")
    similar = get_close_matches(name, [*settings, *MAP_SETTINGS], n=2)
    hint = f": did you mean {' or '.join(similar)}?" if similar else ""
    raise SettingError(name[:100], "", f"unknown setting{hint}")


def check_change(name: str, text: str | None, *, for_one_broker: bool) -> str:
    """Check a value before it is stored, and return the name to store it under.

    Args:
        text: the value; None to delete it.
        for_one_broker: true if it is for one broker, not for every broker.

    Raises:
        SettingError: the setting is unknown or read-only, the value is invalid, or two brokers must not share it.
    """
    setting, name = find_setting(name)
    if not setting.is_live:
        raise SettingError(
            name,
            HIDDEN if setting.is_secret else text or "",
            "read-only: set it in server.properties of each node, and restart the node",
        )
    if setting.level is Level.BROKER and not for_one_broker:
        raise SettingError(name, text or "", "this setting is for one broker only: set it for that broker")
    if text is not None:
        setting.parse(text)
    return name


def _valid(values: Mapping[str, str], errors: list[SettingError], *, for_one_broker: bool) -> dict[str, str]:
    valid = {}
    for name, text in values.items():
        try:
            valid[check_change(name, text, for_one_broker=for_one_broker)] = text
        except SettingError as error:
            errors.append(error)
    return valid


def _given_texts(file: NodeSettings) -> dict[str, str | None]:
    """Return the texts of what a file sets, or of the attributes that were set without a file."""
    if file.given:
        return dict(file.given)
    by_attribute = {declared.attribute: declared for declared in node_settings().values()}
    set_here = {}
    for field in fields(file):
        declared = by_attribute.get(field.name)
        if declared is not None and getattr(file, field.name) != declared.default:
            set_here[declared.name] = replace(declared, default=getattr(file, field.name)).default_text
    return set_here
