"""Patterns and what `java.util.regex` says of them: `python -m tests.compat.java_patterns` records it (needs a JDK).

Each line of the file is a JSON list: a pattern, and the numbers of the names that it matches as a whole, or null if
Java refuses the pattern.
"""

from __future__ import annotations

import json
import lzma
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.paths import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = DATA / "java-patterns.jsonl.xz"
SEED, GENERATED = 5596, 800
NAMES = (
    *("a", "ab", "aa", "aab", "abab", "a1", "a12", "b2c", "A", "AB", "aB", "Z9", "x", "xx", "xyz", "0", "42", "1234"),
    *("_", "__", "_a", "a_b", "-", "a-b", "--", ".", "..x", "a.b", "a.b.c", "test.a", "test-a", "testXa", "test_b"),
    *(
        "orders",
        "ORDERS",
        "orders-2",
        "orders.eu",
        "__consumer_offsets",
        "q",
        "QE",
        "k",
        "K",
        "s",
        "S",
        "aaaa",
        "abcabc",
    ),
)
HANDWRITTEN = (
    *("test.a", r"test\.a", r"\Qtest.a\E", "test.*", "a[12]", "a[0-9]{1|2}", "orders|ab", "[a-z&&[^b]]+[0-9]", "te*t"),
    *(
        r"\p{Upper}+",
        "(?i)upper|orders",
        "ORDERS",
        "__.*",
        ".*den",
        r"\Qa.b",
        r"\Q\E",
        r"a\Q1\E2",
        r"[\Qa-z\E]+",
        "",
        "|",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "}",
        "{",
        "a{",
        "a{2}",
        "a{2}{3}",
        "{3}a",
        "a{2,}",
        "a{2,1}",
        "a{,2}",
        "a{99999999999}",
        "a**",
    ),
    *(
        "a*+b",
        "a++b",
        "a*?b",
        "(?>a*)b",
        "(a|b)*+",
        "^a$",
        r"\Aa\z",
        r"\Ga\Z",
        r"\ba\b",
        r"\Ba",
        r"a\R?b",
        r"\X+",
        "(?=a)ab",
    ),
    *(
        "(?!a).*",
        "(?<=a)b",
        ".*(?<=a)b",
        ".*(?<!a)b",
        r"(a)\1",
        r"(.)(.)\1\2",
        r"(?<x>a)\k<x>",
        r"\k<x>",
        r"(?i)(a)\1b?",
    ),
    *(
        "[]a]",
        "[^]a]",
        "[a-]",
        "[-a]",
        "[a-c-e]",
        "[a[bc]]+",
        "[a-d&&b-z]+",
        "[a-d&&b-z&&c]",
        "[^a-d&&b]",
        "[a&&]",
        "[&&a]",
    ),
    *(
        "[a&b]",
        "[a&&&b]",
        "[a&&&&b]",
        "[a&&[b]c]",
        "[ab&&[b]&c]",
        "[a^b]+",
        "[a&&^b]",
        "[^^a]",
        r"[\w&&[^\d]]+",
        r"[\d-x]+",
    ),
    *(
        r"[\p{Lower}1]+",
        r"\P{Lu}+",
        r"\pL+",
        r"\p{IsAlphabetic}+",
        r"\p{javaUpperCase}+",
        r"\p{gc=Nd}+",
        r"\p{Nope}",
        r"\p{",
    ),
    *(
        r"(?i)\p{Lower}+",
        r"(?i:a)b",
        r"(?i)a(?-i)b",
        r"(?i-s:A)b",
        "(?-)a",
        "(?i",
        "(?y)a",
        "(?U)\\w+",
        r"\x61",
        r"\x{61}b",
    ),
    *(
        r"\u0061b",
        r"\061",
        r"\0141",
        r"\0",
        r"\0400",
        r"\cA",
        r"\y",
        r"\_",
        r"\-",
        "a\\",
        r"[\v-a]",
        r"[\s-a]",
        "[z-a]",
        "[a-",
    ),
    *(
        "(?:a|ab)(?:c|b)?",
        "(a|ab)(c|bcd)?",
        "(?:)",
        "()",
        "(a*)*",
        "(a*)+b?",
        "((a)|b)+",
        "(?s).+",
        "(?m)^a$",
        "(?iu)k+",
        "(?d)a.",
    ),
)
ATOMS = (
    *(
        "a",
        "b",
        "A",
        "1",
        ".",
        "_",
        "-",
        "x",
        r"\.",
        r"\d",
        r"\w",
        r"\W",
        r"\S",
        r"\D",
        r"\h",
        r"\p{Alpha}",
        r"\p{Punct}",
    ),
    *(
        r"\P{Digit}",
        r"\p{Lu}",
        "[ab]",
        "[^a]",
        "[a-z]",
        "[A-Z0-9]",
        r"[\w.]",
        "[a-z&&[^bc]]",
        "[a-f[0-9]]",
        r"\Q.-\E",
        "^",
        "$",
    ),
    *(r"\b", r"\B", r"\x61", "]", "}", "&", "orders", "test"),
)
QUANTIFIERS = ("", "", "", "?", "*", "+", "{2}", "{1,2}", "{0,}", "*?", "+?", "??", "*+", "++", "?+", "{1,3}+")
GROUPS = (
    "({})",
    "({})",
    "(?:{})",
    "(?i:{})",
    "(?>{})",
    "(?={})",
    "(?!{})",
    "(?i){}",
    "(?-i){}",
    r"({})\1",
    "[{}]",
    "(?<n>{})",
)
JAVA = """
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.regex.*;

class Answers {
    public static void main(String[] arguments) throws Exception {
        String[] names = Files.readString(Path.of(arguments[0])).split("\\n");
        StringBuilder answers = new StringBuilder();
        for (String line : Files.readString(Path.of(arguments[1])).split("\\n", -1)) {
            String answer = "";
            try {
                Pattern pattern = Pattern.compile(line);
                for (int index = 0; index < names.length; index++)
                    if (pattern.matcher(names[index]).matches()) answer += " " + index;
            } catch (PatternSyntaxException error) {
                answer = "refused";
            }
            answers.append(answer.strip()).append("\\n");
        }
        System.out.print(answers);
    }
}
"""


def patterns() -> list[str]:
    """Return the patterns, without repetitions."""
    chooser = random.Random(SEED)
    generated = (_pattern(chooser, 3) for _ in range(GENERATED))
    return list(dict.fromkeys((*HANDWRITTEN, *generated)))


def _pattern(chooser: random.Random, depth: int) -> str:
    parts = (_part(chooser, depth) for _ in range(chooser.randint(1, 3)))
    return chooser.choice(("", "|")).join(parts) if chooser.random() < 0.3 else "".join(parts)


def _part(chooser: random.Random, depth: int) -> str:
    if depth and chooser.random() < 0.35:
        item = chooser.choice(GROUPS).format(_pattern(chooser, depth - 1))
    else:
        item = chooser.choice(ATOMS)
    return item + chooser.choice(QUANTIFIERS)


def recorded() -> Iterator[tuple[str, list[int] | None]]:
    """Yield each pattern with the numbers of the names that Java matches; None if Java refuses the pattern."""
    for line in lzma.decompress(FILE.read_bytes()).decode().splitlines():
        pattern, matches = json.loads(line)
        yield pattern, matches


def main(java: str = "java") -> None:
    """Ask Java, and write the file."""
    with TemporaryDirectory() as folder:
        source, names, asked = (Path(folder) / name for name in ("Answers.java", "names", "patterns"))
        source.write_text(JAVA, encoding="utf-8")
        names.write_text("\n".join(NAMES), encoding="utf-8")
        asked.write_text("\n".join(patterns()), encoding="utf-8")
        done = subprocess.run([java, source, names, asked], capture_output=True, text=True, check=True, timeout=120)
    answers = done.stdout.split("\n")[:-1]
    lines = [
        json.dumps([pattern, None if answer == "refused" else [int(number) for number in answer.split()]])
        for pattern, answer in zip(patterns(), answers, strict=True)
    ]
    FILE.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))


if __name__ == "__main__":
    main(*sys.argv[1:])
