"""Cost of imports, and modules that imports must not load.

Commands and short-lived processes pay for imports on every start. `import kwire` and a module of messages therefore do
not load modules for typing, terminals, or data frames.
"""

from __future__ import annotations

import os
import platform
import random
import resource
import statistics
import subprocess
import sys
from importlib import import_module

import pytest

from kwire.testing import FakeCluster
from scripts.stubs import MESSAGE_PACKAGES, PACKAGES_WITH_TABLES, stub, stub_path

NEVER_LOADED = {
    "annotated_types",
    "asyncio",
    "click",
    "dataclasses",
    "inspect",
    "json",
    "pyarrow",
    "pydantic",
    "pyspark",
    "rich",
    "typing",
    "uuid",
}

ALLOWED_OVER_BARE_PYTHON = 0.020
"""The limit in seconds of CPU time for `import kwire`, with and without one module of messages."""

PACKAGE = "import kwire"
PACKAGE_AND_MESSAGES = "import kwire; from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse"
KIP4_MESSAGES = "from kwire.messages.kip4.create_topic import CreateTopicRequest"


def bare_environment() -> dict[str, str]:
    """Return the environment without variables that prevent bytecode caching or add imports."""
    unwanted = {"PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME", "PYTHONWARNINGS", "PYTHONPATH", "PYTHONSTARTUP"}
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def imported_by(program: str) -> set[str]:
    """Return the modules that `program` loads in a bare interpreter."""
    listing = f"import sys; before = set(sys.modules); {program}; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run(
        [sys.executable, "-I", "-c", listing], env=bare_environment(), capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("program", [PACKAGE, PACKAGE_AND_MESSAGES, KIP4_MESSAGES])
def test_import_does_not_load_heavy_modules(program: str) -> None:
    loaded = {module.partition(".")[0] for module in imported_by(program)}

    assert not loaded & NEVER_LOADED


def test_import_of_kwire_loads_no_message() -> None:
    assert not {module for module in imported_by(PACKAGE) if module.startswith("kwire.messages.")}


def test_import_of_a_message_loads_one_api() -> None:
    of_apis = {module for module in imported_by(PACKAGE_AND_MESSAGES) if module.count(".") == 3}

    assert of_apis == {"kwire.messages.kafka.metadata"}


def cpu_seconds(program: str) -> float:
    """Return the user and system CPU time of a process that runs `program`, which other processes hardly affect."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-I", "-c", program], env=bare_environment(), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def best_of_alternating_starts(programs: dict[str, str], starts: int) -> dict[str, float]:
    """Return the median of the faster half of many process starts, with the programs in random order."""
    samples: dict[str, list[float]] = {name: [] for name in programs}
    order = list(programs)
    for _ in range(starts):
        random.shuffle(order)
        for name in order:
            samples[name].append(cpu_seconds(programs[name]))
    return {name: statistics.median(sorted(times)[: starts // 2]) for name, times in samples.items()}


def test_import_takes_at_most_20_ms() -> None:
    programs = {"bare": "pass", "package": PACKAGE, "package and messages": PACKAGE_AND_MESSAGES}
    for program in programs.values():
        cpu_seconds(program)  # writes the bytecode

    measured = best_of_alternating_starts(programs, starts=40)

    for name in ("package", "package and messages"):
        cost = measured[name] - measured["bare"]
        assert cost <= ALLOWED_OVER_BARE_PYTHON, f"{name}: {cost * 1000:.1f} ms over bare Python"


MODULES_OF_A_COMMAND = 142
MODULES_OF_AN_ADMIN_CLIENT = 92
"""Maximum numbers of modules. Each takes 50 microseconds or more, which add up to most of the time of a command."""

LIST_TOPICS = """
import sys
before = {{*sys.modules}}
from kwire.cli import main
from kwire_admin.cli import run
def run_and_list(_):
    assert run(["-b", {bootstrap!r}, *{words!r}]) == 0
    print(*sorted(sys.modules.keys() - before), file=sys.stderr)
    return 0
main(run_and_list)
"""


def test_command_imports_the_messages_that_it_sends() -> None:
    with FakeCluster(topics=3, partitions=1) as cluster:
        program = LIST_TOPICS.format(bootstrap=cluster.bootstrap, words=["topics", "list"])
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = set(done.stderr.split())
    messages = {module.rpartition(".")[2] for module in loaded if module.startswith("kwire.messages.kafka.")}
    assert messages == {"api_versions", "error_codes", "metadata"}
    assert not loaded & {"kwire.client.security", "prompt_toolkit", "rich", "yaml"}
    slow = {"asyncio", "click", "importlib.metadata", "logging", "random", "ssl", "subprocess"}
    slow |= {"base64", "dataclasses", "inspect", "json", "pathlib", "urllib.parse"}
    slow |= {"datetime", "importlib", "platform", "re", "selectors", "socket", "threading", "typing", "zlib"}
    assert not loaded & slow, "their imports take longer than the command"
    values = {module for module in loaded if module.startswith("kwire.client.admin.") and module.endswith("_values")}
    assert not values
    assert {module for module in loaded if module.startswith("kwire.messages.kip4.")} == set()
    assert len(loaded) <= MODULES_OF_A_COMMAND, sorted(loaded)


def test_admin_client_is_imported_without_what_its_operations_need() -> None:
    loaded = imported_by("from kwire.client.admin import AdminClient")

    assert not loaded & {"asyncio", "dataclasses", "platform", "re", "socket", "ssl", "typing", "uuid"}
    assert len(loaded) <= MODULES_OF_AN_ADMIN_CLIENT, sorted(loaded)


def test_scripts_of_the_shell_do_without_a_prompt() -> None:
    with FakeCluster(topics=3, partitions=1) as cluster:
        program = LIST_TOPICS.format(bootstrap=cluster.bootstrap, words=["shell"])
        arguments = [sys.executable, "-c", program]
        done = subprocess.run(arguments, input="topics list;", capture_output=True, text=True, check=True)

    assert done.stdout.startswith("NAME")
    assert not set(done.stderr.split()) & {"prompt_toolkit", "rich", "yaml"}


@pytest.mark.parametrize("package", PACKAGES_WITH_TABLES)
def test_packages_have_the_names_of_their_tables(package: str) -> None:
    module = import_module(package)

    assert set(module.__all__) <= set(dir(module))
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert stub_path(package).read_text(encoding="utf-8") == stub(package), "run make stubs"


@pytest.mark.parametrize("package", ["kwire", "kwire.client", *MESSAGE_PACKAGES])
def test_star_import_binds_the_names_of_the_stub(package: str) -> None:
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)

    stub_names = {line.rsplit(maxsplit=1)[-1].rstrip(",") for line in stub(package).splitlines() if " as " in line}
    assert names.keys() - {"__builtins__"} == stub_names


def test_misspelled_public_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'kwire.client' has no attribute 'Pollar'"):
        import_module("kwire.client").__getattr__("Pollar")


COMMAND_AND_UUIDS = """
import sys
from kwire.cli import main
import atexit
def check():
    import platform, uuid
    assert (platform.system(), len(str(uuid.uuid1())), uuid.UUID(int=1).int) == (sys.argv.pop(), 36, 1)
    assert platform.python_version()
atexit.register(check)
main(lambda words: 0)
"""


def test_command_leaves_platform_and_uuid_as_they_are() -> None:
    done = subprocess.run([sys.executable, "-c", COMMAND_AND_UUIDS, platform.system()], capture_output=True, check=True)

    assert done.stderr == b"", "an error at the exit does not change the exit code"


AT_EXIT = """
import atexit, sys, threading, time
from kwire.cli import main
thread = threading.Thread(target=lambda: (time.sleep(0.05), print("thread")))
for what in sys.argv[1:]:
    thread.start() if what == "thread" else atexit.register(print, what)
print("output")
main(lambda words: 3)
"""


@pytest.mark.parametrize("left", [[], ["thread"], ["function"], ["thread", "function"]], ids=" ".join)
def test_command_ends_after_all_that_is_left_to_do(left: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", AT_EXIT, *left], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr, done.stdout.split()) == (3, "", ["output", *left])
