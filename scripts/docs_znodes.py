"""The page of all znodes of the documentation, from their classes."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from kwire_zookeeper_tools.znode_kinds import ZNODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_zookeeper_tools.znode_kinds import ZnodeKind

INTRODUCTION = """\
# Znodes

Every znode with data that Kafka 0.8 to 3.9 and nodes of kwire have in ZooKeeper: who writes it, the versions of its
format, its fields, and an example in its newest form. `kafka zookeeper decode PATH` shows a znode of a cluster with
these fields; [Znodes](../zookeeper.md) describes the classes in Python. The JSON of the wiki page "Kafka data
structures in Zookeeper" is read in all its versions.
"""


def znodes_page() -> Iterator[str]:
    """Return the parts of the page."""
    yield INTRODUCTION
    yield "| znode | class |\n|---|---|"
    for kind in ZNODES:
        name = type(kind.example).__name__
        yield f"| [`{kind.path}`](#{_anchor(kind)}) | {'-' if kind.example is None else f'`{name}`'} |"
    for kind in ZNODES:
        yield from _section(kind)


def _anchor(kind: ZnodeKind) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", kind.path.lower()).strip("-")


def _section(kind: ZnodeKind) -> Iterator[str]:
    yield f"\n## `{kind.path}` {{#{_anchor(kind)}}}\n"
    summary, fields = _described(kind)
    yield f"{kind.purpose[:1].upper()}{kind.purpose[1:]}.\n" if kind.purpose else f"{summary}\n"
    yield f"- Written by {kind.written_by}.\n- Versions: {kind.versions}.\n"
    if kind.example is None:
        return
    if fields:
        yield "| field | type | meaning |\n|---|---|---|"
        for name, type_text, meaning in fields:
            yield f"| `{name}` | `{type_text.replace(' | ', ' or ')}` | {meaning} |"
    data = kind.example.encode().decode()
    if data:
        yield f"\n```json\n{data}\n```"


def _described(kind: ZnodeKind) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the first sentence of the class, and name, type, and meaning of each field."""
    if kind.example is None:
        return "", []
    cls = type(kind.example)
    text = inspect.cleandoc(cls.__doc__ or "")
    summary = re.sub(r"^`[^`]*`(?:, sequential|, ephemeral)?: ", "", text.partition("\n")[0])
    attributes = text.partition("Attributes:\n")[2]
    meanings = dict(re.findall(r"^ {4}(\w+): ((?:.|\n {8})*)", attributes, re.MULTILINE))
    fields = [
        (name, str(annotation), " ".join(meanings.get(name, "").split()))
        for name, annotation in inspect.get_annotations(cls).items()
        if name not in ("unknown", "warnings", "root")
    ]
    return summary[:1].upper() + summary[1:], fields
