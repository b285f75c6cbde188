"""The page docs/zookeeper.md lists all znode classes."""

from __future__ import annotations

from tests.paths import ROOT

PAGE = ROOT / "docs" / "zookeeper.md"


def test_page_lists_every_znode_class() -> None:
    from kwire_cluster import zookeeper as package

    text = PAGE.read_text(encoding="utf-8")
    nodes = [name for name in vars(package)["__all__"] if hasattr(getattr(package, name), "decode")]
    assert len(nodes) > 15
    assert [name for name in nodes if f"`{name}`" not in text] == []
