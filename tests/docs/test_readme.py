"""README and CONTRIBUTING: their code runs and prints what they show, and their links and commands exist."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire.testing import FakeCluster
from tests.docs.pages import CONTRIBUTING, DOCS, README, ROOT, blocks, console_examples, programs, run_interactive
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = DOCS / "library.md"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
URLS: dict[str, str] = PROJECT["urls"]


def test_interactive_examples_of_the_library_print_what_they_show() -> None:
    run_interactive(LIBRARY)


def test_the_first_example_of_the_readme_prints_events_and_failed_polls() -> None:
    """The example runs as a user would run it, against a fake cluster instead of localhost:9092."""
    first = programs(README)[0]
    printed: list[str] = []
    with FakeCluster(brokers=2, topics=3, partitions=2) as cluster:
        program = first.replace("localhost:9092", cluster.bootstrap).replace("interval=1.0", "interval=0.05")
        assert program.count(cluster.bootstrap) == 1
        process = subprocess.Popen([sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        reader = Thread(target=printed.extend, args=(process.stdout,))
        reader.start()
        try:
            leaders = itertools.cycle((1, 2))

            def reports_a_leader_change() -> bool:
                cluster.move_leader("topic-00001", 0, leader=next(leaders))
                return any("topic-00001-0" in line for line in printed)

            eventually_sync(reports_a_leader_change, "an event of the moved leader", pause=0.2)
            cluster.stop_broker(2)
            eventually_sync(lambda: any("broker 2 does not answer" in line for line in printed), "a failed poll")
        finally:
            process.kill()
            reader.join()
            process.stdout.close()
            process.wait()


@pytest.mark.parametrize(("command", "output"), console_examples(LIBRARY))
def test_console_examples_of_the_library_print_what_they_show(command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "kwire"

    run = subprocess.run(
        [sys.executable, "-m", "kwire", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert run.stdout + run.stderr == output


def test_make_targets_in_documents_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for document in (README, CONTRIBUTING):
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"`make ([a-z-]+)|^    make ([a-z-]+)", text, flags=re.MULTILINE):
            assert re.search(rf"^{''.join(target)}:.* ## ", makefile, flags=re.MULTILINE), target


def test_links_of_the_readme_are_absolute_and_lead_to_files_that_exist() -> None:
    """The README is also the page of the package, where relative links lead nowhere."""
    text = README.read_text(encoding="utf-8")
    tree = re.escape(URLS["Repository"]) + r"/(?:blob|tree)/main/"
    raw = re.escape(URLS["Repository"].replace("github.com", "raw.githubusercontent.com")) + "/main/"
    site = re.escape(URLS["Documentation"])
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")  # names pages that are generated as well
    links = [
        inline or reference
        for inline, reference in re.findall(r"\]\(([^)]+)\)|^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)
    ]
    assert len(links) > 10
    for link in links:
        assert link.startswith("https://"), link
        path = re.sub(f"^(?:{tree}|{raw})", "", link)
        page = re.sub(f"^{site}", "", link)
        if path != link:
            assert (ROOT / path).exists(), link
        elif page != link:
            assert f"- {page.rstrip('/') or 'index'}.md\n" in navigation, link


def test_links_of_contributing_lead_to_files_that_exist() -> None:
    for link in re.findall(r"\]\((?!http)([^)#]+)", CONTRIBUTING.read_text(encoding="utf-8")):
        assert (ROOT / link).exists(), link


def test_addresses_in_the_site_configuration_are_those_of_the_package() -> None:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"site_url: {URLS['Documentation']}\n" in configuration
    assert f"edit_uri: {URLS['Repository']}/edit/main/docs/\n" in configuration
    assert f"link: {URLS['Repository']} " in configuration


def test_one_sentence_describes_the_package_everywhere() -> None:
    sentence = PROJECT["description"]
    assert kwire.__doc__ is not None
    assert kwire.__doc__.splitlines()[0].replace("`", "") == sentence
    assert f"site_description: {sentence}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (README, DOCS / "index.md"):
        assert page.read_text(encoding="utf-8").replace("`", "").startswith(f"# kwire\n\n{sentence}"), page


def test_the_message_that_contributing_declares_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is imported from another place, like a message of a third party."""
    example, _ = blocks(CONTRIBUTING, "python")
    (tmp_path / "brew_coffee.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    brew_coffee = importlib.import_module("brew_coffee")

    message = brew_coffee.BrewCoffeeRequest(kinds=("espresso",))

    data = kwire.encode(message, version=1)
    assert data == bytes.fromhex("02 09 657370726573736f 0000ea60 00")
    assert kwire.decode(brew_coffee.BrewCoffeeRequest, data, version=1) == message


def test_verb_that_contributing_adds_is_a_command(tmp_path: Path) -> None:
    """The function is added to the module of its noun in a copy of the package, and nothing else is edited."""
    _, example = blocks(CONTRIBUTING, "python")
    package = tmp_path / "kwire_admin"
    shutil.copytree(ROOT / "kwire-admin" / "src" / "kwire_admin", package, ignore=shutil.ignore_patterns("__pycache__"))
    with (package / "operations" / "verbs" / "topics.py").open("a", encoding="utf-8") as topics:
        topics.write(f"\n\n{example}")

    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    def kafka(*words: str) -> str:
        command = [sys.executable, "-m", "kwire", *words]
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout

    with FakeCluster(1) as cluster:
        for name, partitions in (("few", 1), ("many", 4), ("some", 2)):
            cluster.create_topic(name, partitions)
        rows = json.loads(kafka("-b", cluster.bootstrap, "topics", "largest", "--count", "2", "--output", "json"))
    assert rows == [{"name": "many", "partitions": 4}, {"name": "some", "partitions": 2}]
    assert "Maximum number of topics" in kafka("topics", "largest", "--help")
    describe = "from kwire_admin.http.openapi import openapi_document; print(*openapi_document()['paths'])"
    run = subprocess.run([sys.executable, "-c", describe], env=environment, capture_output=True, text=True, check=True)
    assert "/api/v1/topics/largest" in run.stdout
