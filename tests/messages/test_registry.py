"""Look-up of message classes, by dialect, key, kind, and version, or by name.

There is no list of messages. The tests check that every file follows the naming convention, and that a new file is
enough to add a message.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from kwire.declare import Message
from kwire.declare.introspect import describe
from kwire.errors import KwireError
from kwire.messages import FAMILIES, UnknownMessage, every, find, kafka, kip4, kip584, module_name, names
from kwire.messages.headers import RequestHeader, ResponseHeader
from scripts.stubs import MESSAGE_PACKAGES, stub, stub_path
from tests.for_rows import for_rows

DIALECTS = ("kafka", "kip4")
NAMED_DIFFERENTLY_BY_TWO_RELEASES = {("kafka", 74, "request"), ("kafka", 74, "response")}

MESSAGES = [cls for cls in every() if describe(cls).kind != "header"]


def label(value: object) -> str:
    return f"{value.__module__.split('.')[-2]}-{value.__name__}" if isinstance(value, type) else str(value)


# By key


@for_rows(
    ("dialect", "api_key", "version", "kind", "name"),
    [
        ("kafka", 3, 12, "request", "MetadataRequest"),
        ("kafka", 3, 12, "response", "MetadataResponse"),
        ("kip4", 3, 0, "request", "TopicMetadataRequest"),
        ("kip4", 3, 1, "request", "TopicMetadataRequest_V1"),
        ("kip4", 13, 0, "response", "CreateTopicResponse"),
        ("kip4", 13, 1, "response", "CreateTopicResponse"),
        ("kip4", 13, 2, "response", "CreateTopicResponse_V2"),
        ("kip4", 1006, 0, "request", "AdminRequest"),
    ],
)
def test_find_by_key_kind_and_version(
    dialect: str, api_key: int, version: int, kind: Literal["request", "response"], name: str
) -> None:
    assert find(dialect, api_key=api_key, version=version, kind=kind).__name__ == name


@for_rows(
    ("api_key", "kafka_name", "kip4_name"),
    [
        (3, "MetadataRequest", "TopicMetadataRequest"),
        (14, "SyncGroupRequest", "AlterTopicRequest"),
        (15, "DescribeGroupsRequest", "DeleteTopicRequest"),
        (48, "DescribeClientQuotasRequest", "UpdateFeaturesRequest"),
    ],
)
def test_dialects_use_the_same_key_for_different_messages(api_key: int, kafka_name: str, kip4_name: str) -> None:
    assert find("kip4", api_key=api_key, version=0, kind="request").__name__ == kip4_name
    assert find("kafka", api_key=api_key, version=0, kind="request").__name__ == kafka_name


def test_message_of_two_dialects_is_one_class() -> None:
    in_kafka = find("kafka", api_key=6, version=8, kind="request")
    in_kip4 = find("kip4", api_key=6, version=8, kind="request")

    assert in_kafka is in_kip4 is kafka.UpdateMetadataRequest


def test_find_without_version_returns_the_newest_class() -> None:
    assert find("kip4", api_key=13, kind="request") is kip4.CreateTopicRequest_V2
    assert find("kafka", api_key=74, kind="request") is kafka.ListConfigResourcesRequest


@for_rows("version", [0, 1])
def test_find_returns_the_newer_of_two_names_for_a_key(version: int) -> None:
    found = find("kafka", api_key=74, version=version, kind="response")

    assert found is kafka.ListConfigResourcesResponse
    assert find("kafka", name="ListClientMetricsResourcesResponse") is kafka.ListClientMetricsResourcesResponse


# By name


def test_find_by_name() -> None:
    assert find("kafka", name="UpdateFeaturesRequest") is kafka.UpdateFeaturesRequest
    assert find("kip4", name="UpdateFeaturesRequest") is kip584.UpdateFeaturesRequest


@for_rows("dialect", DIALECTS)
def test_headers_belong_to_both_dialects(dialect: str) -> None:
    assert find(dialect, name="RequestHeader") is RequestHeader
    assert find(dialect, name="ResponseHeader") is ResponseHeader


@for_rows(
    ("name", "module"),
    [
        ("MetadataRequest", "metadata"),
        ("DescribeTopicPartitionsResponse", "describe_topic_partitions"),
        ("TopicMetadataRequest_V1", "topic_metadata_v1"),
        ("LeaderAndIsrRequest", "leader_and_isr"),
    ],
)
def test_module_name_follows_from_the_message_name(name: str, module: str) -> None:
    assert module_name(name) == module


# Conventions of all declarations


@for_rows("message", MESSAGES, ids=label)
def test_every_message_is_in_the_module_of_its_name(message: type[Message]) -> None:
    package, _, module = message.__module__.rpartition(".")

    assert module == module_name(message.__name__)
    assert getattr(sys.modules[package], message.__name__) is message


@for_rows("message", MESSAGES, ids=label)
def test_every_message_is_found_by_name_and_in_each_of_its_versions(message: type[Message]) -> None:
    facts = describe(message)
    for dialect in facts.dialects:
        assert find(dialect, name=facts.name) is message
        for version in facts.versions if facts.kind != "data" else ():
            found = find(dialect, api_key=facts.api_key, version=version, kind=facts.kind)
            if (dialect, facts.api_key, facts.kind) not in NAMED_DIFFERENTLY_BY_TWO_RELEASES:
                assert found is message


@for_rows("request_class", [m for m in MESSAGES if describe(m).kind == "request"], ids=label)
def test_every_request_has_a_response_of_its_key_and_versions(request_class: type[Message]) -> None:
    facts = describe(request_class)
    assert facts.response is not None
    for dialect in facts.dialects:
        response = describe(find(dialect, name=facts.response))

        assert response.kind == "response"
        assert (response.api_key, response.versions) == (facts.api_key, facts.versions)
        assert dialect in response.dialects


@for_rows("dialect", DIALECTS)
def test_every_returns_the_messages_of_a_dialect(dialect: str) -> None:
    of_the_dialect = every(dialect)
    keys = [describe(cls).api_key for cls in of_the_dialect if cls.api_key >= 0]

    assert set(of_the_dialect) == {cls for cls in every() if dialect in describe(cls).dialects}
    assert keys == sorted(keys)


def test_data_and_headers_come_last() -> None:
    kinds = [describe(cls).kind for cls in every()]
    without_key = kinds[next(index for index, cls in enumerate(every()) if cls.api_key < 0) :]

    assert set(without_key) == {"data", "header"}
    assert without_key == sorted(without_key)
    assert kinds.count("header") == 2


def test_find_by_key_needs_a_request_or_response() -> None:
    with pytest.raises(UnknownMessage):
        find("kafka", api_key=-1, kind="data")


# Unknown messages


@for_rows(
    ("dialect", "arguments", "text"),
    [
        ("kafka", {"api_key": 9999, "kind": "request"}, "dialect kafka has no request with key 9999"),
        ("kafka", {"api_key": 1000, "kind": "request"}, "dialect kafka has no request with key 1000"),
        (
            "kafka",
            {"api_key": 3, "version": 99, "kind": "response"},
            "dialect kafka has no response with key 3 version 99",
        ),
        ("kip4", {"api_key": 3, "version": 2, "kind": "request"}, "dialect kip4 has no request with key 3 version 2"),
        ("kafka", {"name": "PublishRequest"}, "dialect kafka has no message PublishRequest"),
        ("kafka", {"name": "ClusterMetadataRequest"}, "dialect kafka has no message ClusterMetadataRequest"),
        ("kip4", {"name": "MetadataRequest"}, "dialect kip4 has no message MetadataRequest"),
    ],
    ids=["key", "key of another dialect", "version", "gap", "name", "name of another dialect", "name of Kafka's"],
)
def test_unknown_messages_raise_a_descriptive_error(dialect: str, arguments: dict[str, object], text: str) -> None:
    with pytest.raises(UnknownMessage) as caught:
        find(dialect, **arguments)  # type: ignore[arg-type]  # names and numbers

    assert str(caught.value) == text
    assert isinstance(caught.value, KwireError)
    assert isinstance(caught.value, LookupError)
    assert caught.value.dialect == dialect
    assert {name: getattr(caught.value, name) for name in arguments} == arguments


def test_unknown_dialect_is_rejected() -> None:
    with pytest.raises(UnknownMessage, match="'kip5' is not a dialect: write 'kafka' or 'kip4'"):
        find("kip5", name="MetadataRequest")
    with pytest.raises(UnknownMessage, match=r"'MetadataRequest' is not a dialect.*message as name="):
        find("MetadataRequest")


@for_rows(
    "name",
    ["", "Metadata", "metadata", "Request", "Struct", "kafka.metadata.MetadataRequest", "../MetadataRequest", "_V1"],
)
def test_invalid_names_are_unknown_messages(name: str) -> None:
    with pytest.raises(UnknownMessage):
        find("kafka", name=name)


def test_find_does_not_return_structs() -> None:
    assert kip4.TopicMetadataRequest_V1.__module__ == "kwire.messages.kip4.topic_metadata_v1"

    with pytest.raises(UnknownMessage):
        find("kip4", name="TopicMetadata")


@for_rows("arguments", [{}, {"api_key": 3}, {"kind": "request"}, {"version": 3}], ids=str)
def test_find_with_missing_arguments_raises_type_error(arguments: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="api_key= and kind="):
        find("kafka", **arguments)  # type: ignore[arg-type]  # names and numbers


def test_unknown_attribute_of_a_package_raises_attribute_error_with_a_suggestion() -> None:
    package: Any = kafka
    assert not hasattr(package, "PublishRequest")
    with pytest.raises(AttributeError, match=r"kwire\.messages\.kafka has no message PublishRequest$"):
        _ = package.PublishRequest
    with pytest.raises(AttributeError, match=r"has no message MetadataRespons; did you mean MetadataResponse\?$"):
        _ = package.MetadataRespons


@pytest.mark.parametrize("name", ["MetadataRespons", "ShareFetch", "metadata_respons"])
def test_from_import_of_an_unknown_name_is_python_s_import_error(name: str) -> None:
    with pytest.raises(ImportError, match=f"cannot import name '{name}' from 'kwire.messages.kafka'"):
        exec(f"from kwire.messages.kafka import {name}", {})


def test_unknown_attribute_with_the_name_of_an_api_suggests_its_messages() -> None:
    package: Any = kafka
    with pytest.raises(AttributeError, match=r"did you mean ShareFetchRequest or ShareFetchResponse\?$"):
        _ = package.ShareFetch


@for_rows("family", FAMILIES)
def test_dir_of_a_package_lists_its_messages(family: str) -> None:
    package = importlib.import_module(f"kwire.messages.{family}")
    assert set(names(package.__name__)) <= set(dir(package))
    assert all(getattr(package, name).__name__ == name for name in names(package.__name__))


@for_rows("package", MESSAGE_PACKAGES)
def test_stub_of_a_package_is_current(package: str) -> None:
    assert stub_path(package).read_text("utf-8") == stub(package), "run make stubs"


# Imports of a look-up


def run_python(program: str, *arguments: str | Path) -> str:
    """Return the output of a program in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


IMPORTED_APIS = "print(*sorted(m for m in sys.modules if m.startswith('kwire.messages.') and m.count('.') == 3))"


@for_rows(
    "look_up",
    [
        "from kwire.messages.kafka import ElectLeadersRequest",
        "from kwire.messages import find; find('kafka', name='ElectLeadersRequest')",
        "import kwire.messages.kafka; kwire.messages.kafka.ElectLeadersResponse",
    ],
)
def test_look_up_by_name_imports_one_module(look_up: str) -> None:
    imported = run_python(f"import sys; {look_up}; {IMPORTED_APIS}").split()

    assert imported == ["kwire.messages.kafka.elect_leaders"]


# A new message


NEW_MESSAGE = '''
"""Weather (key 5000): the weather outside the data center."""

from __future__ import annotations

from kwire.declare import Message, Request, int16, string


class DescribeWeatherRequest(Request["DescribeWeatherResponse"], api_key=5000, versions="0-1"):
    """Requests the weather from any broker."""

    place: string
    """Where to look."""


class DescribeWeatherResponse(Message, api_key=5000, versions="0-1"):
    """The weather."""

    celsius: int16
    """Temperature in the shade."""
'''

LOOK_UP_IN_A_PACKAGE_WITH_ONE_MORE_FOLDER = """
import sys
import kwire.messages.kafka as package

package.__path__.append(sys.argv[1])

from kwire.messages import every, find

by_name = find("kafka", name="DescribeWeatherRequest")
assert by_name is find("kafka", api_key=5000, version=1, kind="request")
assert by_name is package.DescribeWeatherRequest
assert by_name in every("kafka")
assert find("kafka", api_key=5000, kind="response").__name__ == "DescribeWeatherResponse"
print(by_name(place="Oslo"))
"""


def test_new_file_adds_a_message(tmp_path: Path) -> None:
    (tmp_path / "describe_weather.py").write_text(NEW_MESSAGE, encoding="utf-8")

    shown = run_python(LOOK_UP_IN_A_PACKAGE_WITH_ONE_MORE_FOLDER, tmp_path)

    assert shown == "DescribeWeatherRequest(place='Oslo')\n"


LOOK_UP_A_BROKEN_FILE = """
import sys
import kwire.messages.kafka as package

package.__path__.append(sys.argv[1])

from kwire.messages import find

try:
    find("kafka", name="DescribeWeatherRequest")
except ModuleNotFoundError as error:
    print(error.name)
"""


def test_import_errors_inside_a_module_propagate(tmp_path: Path) -> None:
    broken = NEW_MESSAGE.replace("from kwire.declare import", "from kwire.declarations import")
    (tmp_path / "describe_weather.py").write_text(broken, encoding="utf-8")

    assert run_python(LOOK_UP_A_BROKEN_FILE, tmp_path) == "kwire.declarations\n"
