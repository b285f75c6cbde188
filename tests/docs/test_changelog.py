"""The changelog is current: its newest section is the version of the package and names everything public."""

from __future__ import annotations

import pkgutil
import re

import click

import kwire
from kwire_admin.cli.program import program
from tests.docs.pages import ROOT

NEWEST = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
HISTORY = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

INTERNAL = {"cli", "codec", "columnar", "decoder", "errors", "jsonform", "messages", "protocol", "terminal", "views"}
"""Modules that users meet under other names, or not at all."""


def test_newest_section_is_the_version_of_the_package() -> None:
    assert NEWEST.startswith(kwire.__version__)


def test_every_public_function_is_named() -> None:
    named = set(re.findall(r"\w+", HISTORY))
    functions = {name for name in vars(kwire)["__all__"] if not isinstance(getattr(kwire, name), type(kwire))}
    errors = {name for name in functions if name.endswith("Error") or name == "UnsupportedVersion"}
    assert functions - errors - named == set()


def test_every_public_package_is_named() -> None:
    packages = {module.name for module in pkgutil.iter_modules(kwire.__path__) if not module.name.startswith("_")}
    assert {name for name in packages - INTERNAL if f"kwire.{name}" not in HISTORY} == set()


def test_every_command_is_named() -> None:
    commands = program.list_commands(click.Context(program))
    assert {name for name in commands if f"`{name}`" not in HISTORY} == set()
