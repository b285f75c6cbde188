"""Examples of the document about columns."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "columns.md"


def test_examples_print_the_documented_output() -> None:
    output: list[str] = []
    text = PAGE.read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {"__name__": "page"}, PAGE.name, None, None)

    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=output.append)

    assert result.attempted > 5
    assert result.failed == 0, "".join(output)
