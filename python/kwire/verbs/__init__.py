"""What can be done to a cluster, one file for each verb: `topics/create.py` is `kafka topics create`.

The command line, the shell, and the documentation find verbs by their files; adding a file adds a verb. The names and
the first lines of docstrings are read without importing anything.
"""

from __future__ import annotations

import ast
import pkgutil
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from kwire.verbs.verb import Verb

__all__ = ["VERB_ALIASES", "aliases", "find_noun", "find_verb", "noun_help", "nouns", "similar", "verb_help", "verbs"]

FOLDER = Path(__file__).parent

VERB_ALIASES = {"ls": "list", "rm": "delete"}
"""Short names of verbs."""


@cache
def nouns() -> tuple[str, ...]:
    """Return the nouns in alphabetical order."""
    return tuple(sorted(_spelled(module.name) for module in pkgutil.iter_modules([str(FOLDER)]) if module.ispkg))


@cache
def verbs(noun: str) -> tuple[str, ...]:
    """Return the verbs of a noun in alphabetical order."""
    folder = FOLDER / noun.replace("-", "_")
    return tuple(sorted(_spelled(module.name) for module in pkgutil.iter_modules([str(folder)])))


def find_noun(name: str) -> str | None:
    """Return the noun for a name: the noun or one of its aliases; None if unknown."""
    if name in nouns():
        return name
    return next((noun for noun in nouns() if name in aliases(noun)), None)


def find_verb(noun: str, name: str) -> Verb[Any] | None:
    """Return a verb of a noun and import its module; None if it is unknown. `ls` is list, and `rm` is delete."""
    name = VERB_ALIASES.get(name, name)
    if name not in verbs(noun):
        return None
    module = _module(noun, name)
    found = getattr(import_module(module), module.rpartition(".")[2])
    return cast("Verb[Any]", found)


@cache
def aliases(noun: str) -> tuple[str, ...]:
    """Return the other names of a noun: its singular, and the tuple ALIASES of its package."""
    listed: tuple[str, ...] = ()
    for node in _tree(FOLDER / noun.replace("-", "_") / "__init__.py").body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "ALIASES":
            listed = tuple(ast.literal_eval(node.value))
    singular = noun.removesuffix("s")
    return listed if singular == noun else (singular, *listed)


@cache
def noun_help(noun: str) -> str:
    """Return the first line of the docstring of a noun's package."""
    return _first_line(ast.get_docstring(_tree(FOLDER / noun.replace("-", "_") / "__init__.py")))


@cache
def verb_help(noun: str, name: str) -> str:
    """Return the first line of a verb's docstring, without importing the verb."""
    spec = find_spec(_module(noun, name))
    assert spec is not None
    assert spec.origin is not None
    for node in _tree(Path(spec.origin)).body:
        if isinstance(node, ast.AsyncFunctionDef) and _spelled(node.name) == name:
            return _first_line(ast.get_docstring(node))
    return ""


def similar(name: str, candidates: tuple[str, ...]) -> list[str]:
    """Return the candidates most similar to a misspelled name, best first."""
    return get_close_matches(name, candidates, n=3, cutoff=0.6)


def _module(noun: str, name: str) -> str:
    """Return the module of a verb. A verb that is a keyword or a builtin of Python has an underscore at its end."""
    package = f"{__name__}.{noun.replace('-', '_')}"
    stem = name.replace("-", "_")
    return next(
        f"{package}.{module.name}"
        for module in pkgutil.iter_modules([str(FOLDER / noun.replace("-", "_"))])
        if module.name.strip("_") == stem
    )


def _spelled(module: str) -> str:
    """Return how a module's name is written in a command line."""
    return module.strip("_").replace("_", "-")


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _first_line(docstring: str | None) -> str:
    return (docstring or "").partition("\n")[0]
