"""The registry of served APIs."""

from __future__ import annotations

import subprocess
import sys
import typing
from types import UnionType

import pytest

from kwire.messages import every
from kwire.messages.kip584.api_versions import ApiVersionsRequest
from kwire.protocol.negotiated_versions import FETCH, KIP4_VERSIONS
from kwire_cluster.node.requests.apis import find_handler, served_requests
from tests.cluster.node.handling import handle


def test_every_request_of_the_dialect_is_served() -> None:
    declared = {cls for cls in every("kip4") if cls.__name__.partition("_")[0].endswith("Request")}

    assert set(served_requests()) == declared


@pytest.mark.parametrize("module", sorted(set(served_requests().values())))
def test_handler_declares_the_requests_that_it_serves(module: str) -> None:
    served = {cls for cls, name in served_requests().items() if name == module}
    handler = find_handler(next(iter(served)))
    names = handler.__globals__ | {cls.__name__: cls for cls in served}  # some are imported for type checkers only

    annotation = eval(handler.__annotations__["request"], names)
    declared = set(typing.get_args(annotation)) if isinstance(annotation, UnionType) else {annotation}

    assert declared == served


async def test_api_versions_lists_the_served_versions_of_each_key() -> None:
    response = await handle(ApiVersionsRequest(), 0, None)  # type: ignore[arg-type]  # needs no backend

    listed = {api_key.api_key: range(api_key.min_version, api_key.max_version + 1) for api_key in response.api_keys}
    for cls in served_requests():
        assert all(version in listed[cls.api_key] for version in cls.versions)
    assert list(listed) == sorted({cls.api_key for cls in served_requests()})
    assert (listed[3], listed[13], listed[1000]) == (range(2), range(3), range(2))


def test_api_versions_needs_neither_zookeeper_nor_other_handlers() -> None:
    code = (
        "import sys; from kwire_cluster.node.requests.apis import api_versions, served_requests; served_requests();"
        "names = ('kwire_cluster.zookeeper.connection', 'kwire_cluster.node.requests.apis.create_topic');"
        "print(*(name in sys.modules for name in names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_versions_of_a_node_are_listed_by_nodes() -> None:
    served: dict[int, list[int]] = {}
    for request in served_requests():
        served.setdefault(request.api_key, []).extend(request.versions)
    assert {key: (min(all_), max(all_)) for key, all_ in served.items() if key >= 1000} == KIP4_VERSIONS
    assert FETCH not in served
