"""Runs of Kafka's own tools and of kwire's scripts, and how their outputs are compared."""

from __future__ import annotations

import contextlib
import io
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from kwire_admin.compat import run_script
from tests.kafka.oracle.release_tools import Printed
from tests.kafka.script_cases import JAVA_LOG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNORDERED = ("kafka-acls", "kafka-run-class kafka.tools.GetOffsetShell", "--describe --entity-type", "-groups")
"""Parts of cases whose lines come from a set of Java or Scala, which has no order."""
TRACE = re.compile(r"(?m)^(\s+at |Caused by: |\t\.\.\. ).*\n|^[a-z]+(\.\w+)+(Exception|Error|Exit)\b.*\n")
"""A trace of Java, which follows the sentence of an error."""
UNCAUGHT = re.compile(r'^Exception in thread "main" \S+: ')
USAGE = re.compile(r"\Ausage: .*?(?=^[\w.-]+:\s+error:)", re.DOTALL | re.MULTILINE)
"""The usage that argparse4j prints before an error."""
TIMES = (
    (re.compile(r"(?<=Cluster ID: )\S+"), "ID"),
    (re.compile(r"\b\d{13}\b"), "MILLISECONDS"),
    (re.compile(r"(?<=MILLISECONDS)(\s+)\d+\s+(?=orders)"), r"\1AGE "),
)
"""Cluster ids, times in milliseconds since 1970, and the age of a transaction, which is as wide as its digits."""
DOCUMENT = re.compile(r'\{"version".*\}')


class Case(NamedTuple):
    """A command line.

    Attributes:
        release: the release with the tool that defines the outcome.
        line: the name of the script and its arguments, before placeholders are replaced.
    """

    release: str
    line: str


class Comparison(NamedTuple):
    """The normal forms of two runs: of Kafka's tool, and of kwire's script."""

    case: Case
    theirs: Printed
    ours: Printed

    @property
    def is_same(self) -> bool:
        """True if the lines and the exit codes are equal."""
        return self.theirs == self.ours


def run_own(words: Sequence[str], release: str | None) -> Printed:
    """Run a script of kwire in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_script(words[0], words[1:], release)
    return Printed(code, out.getvalue(), err.getvalue())


def normal(case: str, printed: Printed, varying: Mapping[str, str]) -> Printed:
    """Return an outcome without what varies: addresses, traces and logs of Java, and the order of sets.

    Of stderr, only the first line is left, because the usage follows it, which each release words in its own way.
    """
    texts = [printed.out, printed.err]
    for text, replacement in varying.items():
        texts = [stream.replace(text, replacement) for stream in texts]
    for pattern, replacement in TIMES:
        texts = [pattern.sub(replacement, stream) for stream in texts]
    texts[1] = _sentence_of_argparse(texts[1])
    out, err = (TRACE.sub("", text + "\n") for text in texts)
    lines = [_normal_line(line) for line in out.splitlines() if line.strip()]
    if any(part in case for part in UNORDERED):
        lines.sort()
    sentences = [line for line in err.splitlines() if line.strip() and not line.startswith(JAVA_LOG)]
    # jopt-simple puts names into quotation marks in some releases.
    sentence = UNCAUGHT.sub("", sentences[0]).replace("'", "") if sentences else ""
    return Printed(printed.code % 256, "\n".join(lines), sentence)


def _sentence_of_argparse(text: str) -> str:
    """Return stderr, or only the sentence if the parser of options prints its usage; it breaks and fills lines."""
    sentence = USAGE.sub("", text)
    return text if sentence == text else " ".join(sentence.split()).replace(" -- ", " --")


def _normal_line(line: str) -> str:
    """Return a line with sorted lists of partitions and configs, and without blanks at its ends."""
    document = DOCUMENT.search(line)
    if document is not None:
        partitions = json.loads(document[0])["partitions"]
        line = line.replace(document[0], json.dumps(sorted(partitions, key=str)))
    title, are, configs = line.partition(" are ")
    return (f"{title}{are}{','.join(sorted(configs.split(',')))}" if "onfigs for" in title else line).strip()
