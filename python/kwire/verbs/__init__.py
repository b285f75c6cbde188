"""What can be done to a cluster, one file for each verb: `topics/create.py` is `kafka topics create`.

The command line, the shell, and the documentation find verbs by their files; adding a file adds a verb. The names and
the first lines of docstrings are read without importing a verb.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from kwire.verbs.verb import Verb

__all__ = [
    "VERB_ALIASES",
    "aliases",
    "find_noun",
    "find_verb",
    "first_line",
    "noun_help",
    "nouns",
    "similar",
    "verb_help",
    "verbs",
]

FOLDER = Path(__file__).parent

VERB_ALIASES = {"ls": "list", "rm": "delete"}
"""Short names of verbs."""


@cache
def nouns() -> tuple[str, ...]:
    """Return the nouns in alphabetical order."""
    return tuple(sorted(_spelled(path.parent.name) for path in FOLDER.glob("*/__init__.py")))


@cache
def verbs(noun: str) -> tuple[str, ...]:
    """Return the verbs of a noun in alphabetical order."""
    modules = (path.stem for path in _folder(noun).glob("*.py"))
    return tuple(sorted(_spelled(module) for module in modules if module != "__init__"))


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
    found: Verb[Any] = getattr(import_module(module), module.rpartition(".")[2])
    return found


@cache
def aliases(noun: str) -> tuple[str, ...]:
    """Return the other names of a noun: its singular, and the tuple ALIASES of its package."""
    listed: tuple[str, ...] = getattr(_package(noun), "ALIASES", ())
    singular = noun.removesuffix("s")
    return listed if singular == noun else (singular, *listed)


@cache
def noun_help(noun: str) -> str:
    """Return the first line of the docstring of a noun's package."""
    return (_package(noun).__doc__ or "").partition("\n")[0]


@cache
def verb_help(noun: str, name: str) -> str:
    """Return the first line of a verb's docstring, without importing the verb."""
    module = _module(noun, name).rpartition(".")[2]
    return first_line(_folder(noun) / f"{module}.py", f"\nasync def {module}(")


def first_line(path: Path, after: str = "") -> str:
    """Return the first line of the docstring that follows a text in a file. Parsing the file would take too long."""
    source = path.read_text(encoding="utf-8")
    docstring = source[source.find(after) :].partition('"""')[2]
    return docstring.partition("\n")[0].partition('"""')[0]


def similar(name: str, candidates: tuple[str, ...]) -> list[str]:
    """Return the candidates most similar to a misspelled name, best first."""
    from difflib import get_close_matches

    return get_close_matches(name, candidates, n=3, cutoff=0.6)


def _module(noun: str, name: str) -> str:
    """Return the module of a verb. A verb that is a keyword or a builtin of Python has an underscore at its end."""
    stem = name.replace("-", "_")
    found = next(path.stem for path in _folder(noun).glob("*.py") if path.stem.strip("_") == stem)
    return f"{__name__}.{noun.replace('-', '_')}.{found}"


def _package(noun: str) -> ModuleType:
    """Import the package of a noun, which imports none of its verbs."""
    return import_module(f"{__name__}.{noun.replace('-', '_')}")


def _folder(noun: str) -> Path:
    return FOLDER / noun.replace("-", "_")


def _spelled(module: str) -> str:
    """Return how a module's name is written in a command line."""
    return module.strip("_").replace("_", "-")
