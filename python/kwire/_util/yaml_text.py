"""YAML for people and for programs: characters that could command a terminal are written as escapes."""

from __future__ import annotations

import re

from kwire._util.light_typing import Any
from kwire._util.readable import UNSAFE

__all__ = ["OneLine", "yaml_text"]


class OneLine(dict[str, Any]):
    """A mapping on one line of YAML, so that a change of it is a change of one line."""


def yaml_text(value: Any) -> str:
    r"""Return a value as YAML that every parser reads back as the same value, in the order of its keys.

    A text with control or invisible characters is in double quotes, with escapes such as `\u202e`: they are
    valid in YAML as they are, and harm on a terminal.

    Raises:
        ModuleNotFoundError: PyYAML is not installed.
    """
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {})  # a representer belongs to a class
    dumper.add_representer(
        OneLine, lambda representer, row: representer.represent_mapping("tag:yaml.org,2002:map", row, flow_style=True)
    )
    dumper.add_representer(
        str,
        lambda representer, text: representer.represent_scalar(
            "tag:yaml.org,2002:str", text, style='"' if re.search(UNSAFE, text) else None
        ),
    )
    text: str = yaml.dump(
        value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1, default_flow_style=False
    )
    return re.sub(UNSAFE, lambda unsafe: "\n" if unsafe[0] == "\n" else _escape(ord(unsafe[0])), text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
