"""Text is plain English: phrases that the style guide rules out are not used (CONTRIBUTING.md, "Text and names").

A regular expression finds only some of them, and the syntax tree docstrings that ask. An exception needs a reason in
`ALLOWED`.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent

PHRASES = {
    "ritual heading": r"\bRules of this (file|package|module)\b",
    "'is no X' as a predicate": r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more than\b|different\b)",
    "'none' as a predicate": r"(?<![Tt]here )\b(?:is|are|was|were) none\b",
    "anew": r"\banew\b",
    "tell for report": r"\b(?:told|tells|teller|tellers)\b",
    "thereby": r"\b(?:thereby|therein|whereof|hitherto)\b",
    "he for a broker": r"\b(?:[Hh]e|[Hh]is|[Hh]im)\b",
    "believe for agree": r"\b(?:belief|believe[ds]?)\b",
    "asked on": r"\basked on\b",
    "nobody, somebody": r"\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody)\b",
    "shall": r"\bshall\b",
    "ours": r"\bours\b",
    "'What is X, is Y'": r"(?:^|\. )What [^.,]{3,60}, (?:is|are)\b",
    "the first first": r"\bthe (\w+) \1\b(?<!that that)",
    "headless relative": r"\b(?:[Tt]hose|[Tt]he ones?) (?:that|which|who)\b|\bthat of\b(?! which)",
    "of which": r"\b[Oo]f (?:which|whom)\b",
    "may not": r"\b[Mm]ay (?:or may )?not\b",
    "so many": r"\b[Ss]o (?:many|few)\b",
    "British spelling": r"\b(?:colour|behaviour|honour|favour|neighbour|spelt|catalogue)\w*",
}

ALLOWED: dict[str, dict[str, str]] = {
    "kwire-cluster/tests/cluster/zookeeper/test_configs.py": {"nobody, somebody": "a user of that name"},
    "kwire-admin/src/kwire_admin/compat/scripts/reassign_partitions.py": {"may not": "a text of Kafka's script"},
    "tests/test_style.py": {"*": "contains the phrases"},
}
"""File or folder -> phrase (or `*`) -> reason."""

PENDING: tuple[str, ...] = ()
"""Files and folders with text from before the newest rules. The list only becomes shorter."""

NEWEST_RULES = ("headless relative", "of which", "may not", "so many", "docstring that asks")

SUFFIXES = {".md", ".py", ".pyi", ".rs", ".sh", ".toml", ".yml"}


@cache
def lines() -> tuple[tuple[Path, int, str], ...]:
    """Return every line of text with its file and number."""
    return tuple((path, number, line) for path in documents() for number, line in prose(path))


def documents() -> Iterator[Path]:
    """Yield the text files that git tracks, except data and the license."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in sorted(filter(None, listed.split("\0"))):
        path = ROOT / name
        if path.suffix in SUFFIXES and "data" not in path.parts and path.exists():
            yield path


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of text in a file: comments, strings, and names of tests; all lines of a document."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in {".py", ".pyi"}:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in {tokenize.COMMENT, tokenize.STRING}:
                for offset, line in enumerate(token.string.split("\n")):
                    yield token.start[0] + offset, line
        for match in re.finditer(r"^\s*(?:async )?def (test_\w+)", source, flags=re.MULTILINE):
            yield source.count("\n", 0, match.start(1)) + 1, match[1].replace("_", " ")
    elif path.suffix == ".rs":
        for number, line in enumerate(source.split("\n"), 1):
            if "//" in line:
                yield number, line[line.index("//") :]
    else:
        yield from enumerate(source.split("\n"), 1)


def is_allowed(path: Path, phrase: str) -> bool:
    name = path.relative_to(ROOT).as_posix()
    if phrase in NEWEST_RULES and name.startswith(PENDING):
        return True
    return any(name.startswith(place) and (phrase in reasons or "*" in reasons) for place, reasons in ALLOWED.items())


@pytest.mark.parametrize("phrase", PHRASES)
def test_text_is_plain(phrase: str) -> None:
    pattern = re.compile(PHRASES[phrase])
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path, number, line in lines()
        if pattern.search(line) and not is_allowed(path, phrase)
    ]
    assert found == []


def test_each_suppression_has_a_reason() -> None:
    """`# noqa: CODE  # reason` and `# type: ignore[code]  # reason`; codes that share a line share the reason."""
    suppression = re.compile(r"# (?:noqa: [A-Z]+\d+(?:, [A-Z]+\d+)*|type: ignore\[[a-z, -]+\])")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path, number, line in lines()
        if path.suffix == ".py" and "typing" not in path.parts and line.startswith(("# noqa", "# type: ignore"))
        if not re.match(rf"(?:{suppression.pattern}  )+# (?!noqa|type: ignore)\S", line)
        or line.endswith(("# see above", "# as above"))
    ]
    assert found == []


QUESTION = re.compile(
    r"(?:(?:Up to|By|After|At|From|For|In|Of|On|To|With) (?:how|what|which|whom)"
    r"|How|What|When|Where|Whether|Which|Who|Whose|Why)\b"
)
DOCSTRING_QUESTION = re.compile(rf'"""\s*{QUESTION.pattern}')
PARAMETER_QUESTION = re.compile(
    r"^\s+`?\w+`?: (?:how|what|when|where|whether|which|who|whose|why|up to (?:how|which))\b", re.MULTILINE
)


def docstrings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, name, and text of each docstring: of the module, classes, functions, constants, and attributes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        owner = getattr(node, "name", path.stem)
        for before, statement in zip([None, *node.body], node.body, strict=False):
            match statement:
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    yield statement.lineno, owner if before is None else ast.unparse(before).partition("=")[0], text


def questions(path: Path) -> Iterator[str]:
    """Yield where a docstring, or the description of a parameter or an attribute, begins with a question word."""
    source = path.read_text(encoding="utf-8")
    if not (DOCSTRING_QUESTION.search(source) or PARAMETER_QUESTION.search(source)):
        return  # parsing all files takes seconds
    for number, name, text in docstrings(path):
        if QUESTION.match(text.strip()):
            yield f"{path.relative_to(ROOT)}:{number}: {name.strip()}: {text.strip().splitlines()[0]}"
        for offset, line in enumerate(text.split("\n")):
            if PARAMETER_QUESTION.match(line):
                yield f"{path.relative_to(ROOT)}:{number + offset}: {name.strip()}: {line.strip()}"


def test_docstrings_do_not_ask() -> None:
    """A constant is a thing with its unit, a class a noun phrase; a function says what it does."""
    asking = [
        question
        for path in documents()
        if path.suffix in {".py", ".pyi"} and not is_allowed(path, "docstring that asks")
        for question in questions(path)
    ]
    assert asking == []


NOUNS = (
    "accounts ACLs attempts batches brokers changes clusters columns commits configs connections consumers differences "
    "elections entries errors events features files frames groups incidents lines members messages moves nodes offsets "
    "others partitions permissions places polls problems quotas records replicas requests rows sections segments "
    "servers settings snapshots tables topics transactions users versions voters"
)
PLURAL = re.compile(rf" (?:(?:bad|late|live|missing|more|other) )?(?:{NOUNS.replace(' ', '|')})\b")
NOT_ONE = (
    r"(?:[A-Z_]+|kind|title|limit|limits)\b|.* if |len\((?:ids|lags|lines|longest)\b|created|total|placement.factors"
    r"|partitions$|', '.join"
)
"""Limits, words, and numbers that are larger than 1 at their place."""


def plurals(path: Path) -> Iterator[str]:
    """Yield where an f-string puts a number before a noun in the plural. In `1 of 1 partitions` it is right."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, value, after in zip([None, *node.values], node.values, node.values[1:], strict=False):
            if not (isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant)):
                continue
            total = isinstance(before, ast.Constant) and re.search(
                r"\b(?:of|than|most|all|All)(?: the topic's)? $", str(before.value)
            )
            expression = ast.unparse(value.value)
            if not total and PLURAL.match(str(after.value)) and not re.match(NOT_ONE, expression):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {{{expression}}}{str(after.value)[:20]}"


def test_numbers_agree_with_their_nouns() -> None:
    """`counted` writes `1 partition`, not `1 partitions`. Scripts print the texts of Kafka."""
    sources = [*(ROOT / "python" / "kwire").rglob("*.py"), *ROOT.glob("kwire-*/src/**/*.py")]
    assert [text for path in sorted(sources) if "compat" not in path.parts for text in plurals(path)] == []
