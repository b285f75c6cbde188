"""The layers of a node's settings. Sentences of KAFKA-1694, "The Global Configuration Manager", are quoted."""

from __future__ import annotations

import pytest

from kwire_cluster.config.live_config import Layer, LiveConfig, Stored, check_change, find_setting
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.config.setting import SettingError

REQUIRED = {"broker.id": "1", "zookeeper.connect": "localhost"}


def config(**file: str) -> LiveConfig:
    named = {name.replace("_", "."): text for name, text in file.items()}
    return LiveConfig(NodeSettings.from_properties({**REQUIRED, **named}))


def layered(config: LiveConfig, name: str) -> tuple[str | None, Layer, tuple[Stored, ...]]:
    found = config.explain(name)
    return found.text, found.layer, found.shadowed


def test_layers_of_a_value() -> None:
    """'a new class that can flatten/figure out the right property. Check server.properties (we can make that level 1)
    and if not found use what we get from storage (for now zookeeper) and if not found then use what is default in the
    code.'
    """
    found = config()
    assert layered(found, "num.partitions") == ("1", Layer.CODE, ())
    assert found.set_stored({}, {"num.partitions": "2"}) == []
    assert layered(found, "num.partitions") == ("2", Layer.DEFAULT, ())
    assert found.current.num_partitions == 2
    found.set_stored({"num.partitions": "3"}, {"num.partitions": "2"})
    assert layered(found, "num.partitions") == ("3", Layer.BROKER, (Stored(Layer.DEFAULT, "2"),))
    assert found.current.num_partitions == 3


def test_file_is_stronger_than_what_is_stored() -> None:
    """'MANY configuration (much like topic level) are actually global to EVERY broker and brokers (through
    server.properties) should be able to override'
    """
    found = config(num_partitions="7")
    found.set_stored({"num.partitions": "3"}, {"num.partitions": "2"})
    shadowed = (Stored(Layer.BROKER, "3"), Stored(Layer.DEFAULT, "2"))
    assert layered(found, "num.partitions") == ("7", Layer.FILE, shadowed)
    assert found.current.num_partitions == 7


def test_deleted_value_falls_back_to_the_next_layer() -> None:
    found = config()
    found.set_stored({}, {"num.partitions": "2"})
    found.set_stored({}, {})
    assert found.current.num_partitions == 1


def test_attributes_that_were_set_without_a_file_count_as_given() -> None:
    found = LiveConfig(NodeSettings(id=1, zookeeper="localhost", num_partitions=5))
    found.set_stored({}, {"num.partitions": "2", "default.replication.factor": "3"})
    assert (found.current.num_partitions, found.current.default_replication_factor) == (5, 3)


def test_listeners_hear_of_changes_only() -> None:
    found = config()
    heard: list[int] = []
    found.listen(lambda: heard.append(found.current.num_partitions))
    for _ in range(2):
        found.set_stored({}, {"num.partitions": "4"})
    assert heard == [4]


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ({"num.partitions": "many"}, "expected an integer from 1 to 2147483647"),
        ({"num.partitons": "1"}, "unknown setting: did you mean num.partitions?"),
        ({"listeners": "127.0.0.1:1"}, "read-only: set it in server.properties of each node, and restart the node"),
    ],
)
def test_stored_values_without_effect_are_named(stored: dict[str, str], reason: str) -> None:
    found = config()
    [error] = found.set_stored({}, stored | {"default.replication.factor": "2"})
    assert error.reason == reason
    assert found.current.default_replication_factor == 2


def test_change_of_an_unknown_setting_suggests_similar_ones() -> None:
    with pytest.raises(SettingError, match=r"did you mean max\.connections "):
        check_change("max.connection", "1", for_one_broker=False)


class TestMaps:
    """'set topic_security['pci','profile','dss'] = true'"""

    NAME = "topic_security['pci','profile','dss']"

    @pytest.mark.parametrize(
        "written", [NAME, 'topic_security["pci","profile","dss"]', "topic_security [ 'pci', 'profile', 'dss' ]"]
    )
    def test_entries_have_one_canonical_name(self, written: str) -> None:
        assert find_setting(written)[1] == self.NAME

    def test_entries_are_read_by_their_words(self) -> None:
        found = config()
        found.set_stored({"topic_security['a']": "no"}, {self.NAME: "true", "topic_security['a']": "yes"})
        assert found.map("topic_security") == {("pci", "profile", "dss"): "true", ("a",): "no"}
        assert layered(found, self.NAME) == ("true", Layer.DEFAULT, ())
        assert self.NAME in found.names()

    @pytest.mark.parametrize(
        ("written", "reason"),
        [
            ("topic_security[pci]", "expected quoted words between the brackets"),
            ("topic_security[1]", "expected quoted words between the brackets"),
            ("topic_security['a'", "unknown setting"),
            ("topic_security", "this setting is a map: name an entry"),
            ("other['a']", "unknown setting"),
            (f"topic_security['{'x' * 1000}']", "at most 1000 characters"),
        ],
    )
    def test_other_names_are_rejected(self, written: str, reason: str) -> None:
        with pytest.raises(SettingError, match=reason):
            find_setting(written)
