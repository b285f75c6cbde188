"""The examples of docs/zookeeper.md print the documented output, and the page lists all znode classes."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "zookeeper.md"


def test_examples_print_the_documented_output() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(>>>.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, None, None)
    output: list[str] = []

    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=output.append)

    assert result.attempted > 8
    assert result.failed == 0, "".join(output)


def test_page_lists_every_znode_class() -> None:
    from kwire.cluster import zookeeper as package

    text = PAGE.read_text(encoding="utf-8")
    nodes = [name for name in vars(package)["__all__"] if hasattr(getattr(package, name), "decode")]
    assert len(nodes) > 15
    assert [name for name in nodes if f"`{name}`" not in text] == []
