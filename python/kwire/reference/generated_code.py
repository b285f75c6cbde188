"""Source of generated functions, and the errors that end them or prevent them."""

from __future__ import annotations

from struct import error as struct_error

from kwire.errors import DecodeError, EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_DEPTH = 8
"""Maximum depth of arrays and nullable values; CPython compiles 20 nested blocks. Deeper messages are not generated."""


class Unusual(Exception):
    """The generated function does not handle this value."""


UNUSUAL = (
    Unusual,
    AttributeError,  # a slot is not set
    DecodeError,
    EncodeError,
    IndexError,  # the end of the input
    OverflowError,
    UnicodeError,
    struct_error,
)
"""Errors that end a generated function."""


class NotGenerated(Exception):
    """A message is nested too deeply, contains itself, or has attributes of its own making."""


class Code:
    """Source of a function: its lines, and the objects that it names.

    `first` has the lines that set variables before all others, once each however often they are added.
    """

    def __init__(self, name: str, parameters: str) -> None:
        self.head = f"def {name}({parameters}):"
        self.first: dict[str, None] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.objects: dict[str, Any] = {}
        self.names = 0

    def add(self, line: str) -> None:
        self.lines.append(f"{'    ' * self.depth}{line}")

    def begin_with(self, line: str) -> None:
        self.first[f"    {line}"] = None

    def variable(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def object(self, value: Any) -> str:
        self.names += 1
        name = f"o{self.names}"
        self.objects[name] = value
        return name

    def indent(self) -> None:
        self.depth += 1
        if self.depth > 2 * MAX_DEPTH:
            raise NotGenerated

    def dedent(self) -> None:
        self.depth -= 1

    def function(self, name: str) -> Any:
        """Compile the lines, and return their function."""
        # The lines name fields of declarations, which are identifiers. Input and values of messages are never in them.
        source = compile("\n".join([self.head, *self.first, *self.lines]), f"<kwire {name}>", "exec")
        exec(source, self.objects)  # noqa: S102  # generated code is the purpose of this class
        return self.objects[name]
