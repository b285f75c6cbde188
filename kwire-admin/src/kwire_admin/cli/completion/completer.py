"""The candidates for an unfinished command line.

    kafka __complete bash WORDBREAKS LINE
    kafka __complete zsh|fish [WORD]... WORD

prints how the candidates are completed (`files` and `directories` leave that to the shell, and `nospace` adds no blank
after them) and then the candidates, a line each. For zsh and fish, a description follows after a tab.
"""

from __future__ import annotations

import os
import sys
import time

from kwire.terminal.environment import variables_for
from kwire_admin.cli.completion.grammar_file import load_grammar
from kwire_admin.cli.completion.name_cache import USABLE, NameFile, choice_of
from kwire_admin.cli.completion.shell_words import escape, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kwire_admin.cli.completion.commands import Grammar

LONGEST_WAIT = 1.5
"""Seconds to wait for names that have never been fetched, or not for a day."""
PAUSE = 0.01
"""Seconds between two looks whether names have arrived."""

CLUSTER_OPTIONS = {
    "-b": "bootstrap",
    "--bootstrap": "bootstrap",
    "-c": "cluster",
    "--cluster": "cluster",
    "--command-config": "command_config",
    "-X": "overrides",
    "--override": "overrides",
}


class Completion:
    """Candidates.

    Attributes:
        names: the candidates with their descriptions, which may be empty.
        how: `files`, `directories`, `nospace`, or an empty string.
    """

    __slots__ = ("how", "names")

    def __init__(self, names: Sequence[tuple[str, str]] = (), how: str = "") -> None:
        self.names = names
        self.how = how


def complete(arguments: Sequence[str]) -> int:
    """Print the candidates for a command line. See the docstring of the module."""
    shell, *rest = arguments
    if shell == "bash":
        breaks, line = rest
        words, last = split(line, breaks)
        candidates = CommandLine(load_grammar()).candidates(words[1:], last.text)
        lines = [escape(name, last) for name, _ in candidates.names if name.isprintable()]
    else:
        candidates = CommandLine(load_grammar()).candidates(rest[:-1], rest[-1])
        lines = [f"{name}\t{text}" if text else name for name, text in candidates.names if name.isprintable()]
    sys.stdout.write("\n".join((candidates.how, *lines, "")))
    return 0


class CommandLine:
    """A command line up to the word that is completed."""

    def __init__(self, grammar: Grammar) -> None:
        self._node = grammar
        self._given: dict[str, list[str]] = {}
        """The values of options, by name."""
        self._positional: list[str] = []
        self._options_ended = False

    def candidates(self, words: Sequence[str], last: str) -> Completion:
        """Return the candidates for the last word.

        Args:
            words: the complete words before, without the program.
        """
        pending: str | None = None
        for word in words:
            if pending is not None:
                self._given.setdefault(pending, []).append(word)
                pending = None
            elif word == "--":
                self._options_ended = True
            elif self._is_option(word):
                pending = self._read_option(word)
            elif "commands" not in self._node:
                self._positional.append(word)
            elif not self._enter(word):
                return Completion()
        if pending is not None:
            return self._values(self._node["options"][pending], last)
        name, equals, value = last.partition("=")
        if self._is_option(last) and equals and name.startswith("--"):
            completion = self._values(self._node["options"].get(name, {}), value)
            return Completion([(f"{name}={value}", text) for value, text in completion.names], completion.how)
        if self._is_option(last):
            return self._options(last)
        if "commands" in self._node:
            return self._commands(last)
        return self._argument(last)

    def _is_option(self, word: str) -> bool:
        return word.startswith("-") and word != "-" and not self._options_ended

    def _read_option(self, word: str) -> str | None:
        """Note an option, and return its name if its value is the next word."""
        name, equals, value = word.partition("=")
        specification = self._node["options"].get(name)
        if equals or specification is None or specification.get("flag"):
            self._given.setdefault(name, []).append(value)
            return None
        return name

    def _enter(self, word: str) -> bool:
        """Continue with the options and arguments of a command."""
        name = self._node["aliases"].get(word, word)
        if name not in self._node["commands"]:
            return False
        self._node = self._node["commands"][name]
        return True

    def _options(self, prefix: str) -> Completion:
        return Completion(
            [
                (name, specification.get("help", ""))
                for name, specification in self._node["options"].items()
                if name.startswith(prefix)
                and name.startswith("--")
                and (specification.get("many") or name not in self._given)
            ]
        )

    def _commands(self, prefix: str) -> Completion:
        commands = self._node["commands"]
        return Completion([(name, command["help"]) for name, command in commands.items() if name.startswith(prefix)])

    def _argument(self, prefix: str) -> Completion:
        arguments = self._node["arguments"]
        index = min(len(self._positional), len(arguments) - 1)
        if index < 0 or (len(self._positional) > index and not arguments[index].get("many")):
            return Completion()
        completion = self._values(arguments[index], prefix)
        used = self._positional[index:]
        return Completion([name for name in completion.names if name[0] not in used], completion.how)

    def _values(self, specification: Grammar, prefix: str) -> Completion:
        """Return the candidates for a value."""
        if "choices" in specification:
            return Completion([(choice, "") for choice in specification["choices"] if choice.startswith(prefix)])
        if "typed" in specification:
            return self._typed(specification["typed"], prefix)
        kind = specification.get("kind")
        if kind in ("files", "directories"):
            return Completion(how=kind)
        if "configs" in specification:
            kind = next(
                (specification["configs"].get(argument.partition("/")[0]) for argument in self._positional), None
            )
        if kind is None or "=" in prefix:
            return Completion()
        suffix = specification.get("suffix", "")
        return Completion([(name + suffix, "") for name in self.names(kind, prefix)], "nospace" if suffix else "")

    def _typed(self, declared: tuple[str, dict[str, str | None]], prefix: str) -> Completion:
        """Return the candidates for a value such as `topic/orders`: first types, and then names."""
        separator, kinds = declared
        kind, separated_by, name = prefix.partition(separator)
        if not separated_by:
            types = [(f"{kind}{separator}", "") for kind in kinds if kind.startswith(prefix)]
            return Completion(types, "nospace")
        names = kinds.get(kind)
        return Completion(
            [(kind + separator + candidate, "") for candidate in self.names(names, name)] if names else ()
        )

    def names(self, kind: str, prefix: str) -> list[str]:
        """Return names of a kind, and have them fetched in the background if they are old."""
        chosen: dict[str, Any] = {"overrides": []}
        words: list[str] = []
        for option, values in self._given.items():
            name = CLUSTER_OPTIONS.get(option)
            if name == "overrides":
                chosen[name] += values
            elif name is not None:
                chosen[name] = values[-1]
            words += [word for value in values for word in (option, value)] if name is not None else []
        choice = choice_of(kind, chosen | variables_for(chosen))
        if choice is None:
            return []
        file = NameFile(choice, kind)
        if file.must_be_fetched() and not _fetch(file, words):
            return file.matches(prefix)
        if file.age() > USABLE:
            _wait(file)
        return file.matches(prefix)


def _fetch(file: NameFile, words: Sequence[str]) -> bool:
    """Start a process that fetches names. It has no terminal, and it survives this process.

    Args:
        words: the options that choose the cluster. The process has the variables of the environment.

    Returns:
        False if that is not possible: on Windows, and without a cache that can be written.
    """
    if not hasattr(os, "fork"):
        return False
    try:
        file.mark()
    except OSError:
        return False
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "kwire", "__fetch", file.kind, *words])
    return True


def _wait(file: NameFile) -> None:
    """Wait until names have arrived, fetching them has failed, or too much time has passed."""
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end and file.age() > USABLE and not file.failed():
        time.sleep(PAUSE)
