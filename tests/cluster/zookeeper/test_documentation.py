"""The examples of docs/zookeeper.md run, and print what stands there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "zookeeper.md"


def test_the_examples_print_what_they_say() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(>>>.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, None, None)
    said: list[str] = []

    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=said.append)

    assert result.attempted > 8
    assert result.failed == 0, "".join(said)


def test_every_class_that_it_names_exists_and_every_public_name_of_a_node_is_in_it() -> None:
    import kwire.cluster.zookeeper as package

    text = PAGE.read_text(encoding="utf-8")
    nodes = [name for name in package.__all__ if hasattr(getattr(package, name), "decode")]
    assert len(nodes) > 15
    assert [name for name in nodes if f"`{name}`" not in text] == []
