"""Rules for all tests.

A test that did not run has proved nothing, so a skip is a failure and so is an expected failure. What a machine cannot
run at all (another operating system's limits) is left out of the collection here, by name, for a stated reason.

Hypothesis repeats the same examples on every run, so that a red test is red for everybody. To look for new ones:
``pytest --hypothesis-profile=exhaustive``.

Several processes share the work (``make test``), a file at a time, the slowest first: at the end they would keep one
process busy and leave the others with nothing to do. Spark computes and clusters mostly wait, so their files alternate.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

SLOWEST = ("kwire-pipeline/tests/pipeline/", "kwire-cluster/tests/cluster/")
MARKED_FOLDERS = {"tests/kafka/": "kafka", "tests/release/": "release"}
"""Marks of all tests of a folder, in every product."""
pytest_plugins = ["tests.kafka.fixtures"] if find_spec("cryptography") else []  # tests of wheels install less
OLD_KAFKA = {"kafka39", "secured39"}
"""Fixtures, and parameters of fixtures, that start Kafka 3.9."""


def _import_folders() -> None:
    """Import the folders of tests by Python's own rules, each as one namespace package in the folders of all products.

    Pytest would make a package of the first folder of a name in which it finds a test.
    """
    for root in (Path(__file__).parent, *Path(__file__).parent.glob("kwire-*")):
        for folder, names, _ in os.walk(root / "tests"):
            names[:] = [name for name in names if name.isidentifier() and name != "data" and not name.startswith("__")]
            import_module(".".join(Path(folder).relative_to(root).parts))


_import_folders()

settings.register_profile(
    "quick",
    derandomize=True,
    database=None,
    deadline=None,  # the machine may be busy; time is measured elsewhere
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("brief", settings.get_profile("quick"), max_examples=20)  # each CPython, and debug builds
settings.register_profile("seeds", settings.get_profile("quick"), derandomize=False, print_blob=True)  # `make nightly`
settings.register_profile(
    "exhaustive",
    derandomize=False,
    deadline=None,
    max_examples=5_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")


@pytest.fixture(scope="session", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep journals and histories of commands out of the folder of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", default="1/1", help="run the K-th of N shares of the files: K/N")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that use the fixture `java`, those of the folders in `MARKED_FOLDERS`, and the nightly ones."""
    if isinstance(item, pytest.Function) and "java" in item.fixturenames:
        item.add_marker(pytest.mark.java)
    for folder, mark in MARKED_FOLDERS.items():
        if f"/{folder}" in f"/{item.nodeid}":
            item.add_marker(mark)
    slow = any(item.get_closest_marker(mark) for mark in (*MARKED_FOLDERS.values(), "programs"))
    if slow and (item.get_closest_marker("change") is None or _needs_old_kafka(item)):
        item.add_marker(pytest.mark.nightly)


def _needs_old_kafka(item: pytest.Item) -> bool:
    """Return whether a test starts Kafka 3.9 or older: a change is tested with the newest release."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    fixtures = {*getattr(item, "fixturenames", ()), *(value for value in parameters if isinstance(value, str))}
    return not OLD_KAFKA.isdisjoint(fixtures)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the selected tests of one share, and run the files of `SLOWEST` first, one of each folder in turn."""
    share, shares = map(int, config.getoption("--share").split("/"))
    units = sorted({_unit(item) for item in items})
    mine = set(units[share - 1 :: shares])
    config.hook.pytest_deselected(items=[item for item in items if _unit(item) not in mine])
    items[:] = [item for item in items if _unit(item) in mine]
    turns: dict[str, float] = {}
    counts: Counter[str] = Counter()
    for file in dict.fromkeys(map(_file, items)):
        folder = next((folder for folder in SLOWEST if file.startswith(folder)), None)
        turns[file] = counts[folder] if folder is not None else float("inf")
        counts[folder or ""] += 1
    items.sort(key=lambda item: turns[_file(item)])


def _unit(item: pytest.Item) -> str:
    """Return what a share does not divide: a file, or a test of `tests/release`, which takes minutes."""
    return item.nodeid if item.get_closest_marker("release") else _file(item)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@pytest.fixture(scope="session")
def java() -> None:
    """For tests that start Java, and fixtures that do; `make test-java` runs them."""
    assert shutil.which("java") or "JAVA_HOME" in os.environ, "this test needs Java 17 or newer"


@pytest.fixture(scope="session")
def server(java: None) -> Iterator[EmbeddedZooKeeper]:
    """The ZooKeeper of this process, for tests that leave it running; each test uses a chroot of its own."""
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

    with EmbeddedZooKeeper(force_sync=False, tick=0.2) as server:  # sessions may be as short as 0.4 s
        yield server


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        report.outcome = "failed"
        report.longrepr = f"skipped, or meant to fail, so it proves nothing: {reason}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test, or one that failed as expected, is a failed test."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips all of itself."""
    report = yield
    _refuse_skip(report)
    return report
