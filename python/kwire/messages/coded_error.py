"""Base class of error code tables.

A table is an `enum.IntEnum` whose members are made when they are used: most programs meet a few of the 138 errors of
Kafka, and to make all takes a tenth of the time of a small command.
"""

from __future__ import annotations

from enum import EnumType, IntEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from enum import EnumType as CodedErrors
    from typing import Any, Self
else:

    class CodedErrors(EnumType):
        """A table of error codes. See `enum.EnumType`."""

        @classmethod
        def __prepare__(cls, name: str, bases: tuple[type, ...]) -> dict[str, Any]:
            return {}

        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
            rows = {member: row for member, row in namespace.items() if member.isupper()}
            without_members = EnumType.__prepare__(name, bases)
            for attribute, value in namespace.items():
                if attribute not in rows:
                    without_members[attribute] = value
            table = super().__new__(cls, name, bases, without_members)
            type.__setattr__(table, "_rows", rows)
            type.__setattr__(table, "_names", {row[0]: member for member, row in rows.items()})
            type.__setattr__(table, "_made", {})
            return table

        def __call__(cls, code: int) -> Any:
            """Return the member with a number. Any number has one: a broker decides which codes it sends."""
            if not isinstance(code, int):
                raise ValueError(f"{code!r} is not a valid {cls.__name__}")  # noqa: TRY004  # as enumerations do
            known = cls._made.get(code)
            if known is not None:
                return known
            name = cls._names.get(code)
            if name is None:
                return cls._make(f"UNKNOWN_{code}", code, "the error code is unknown to this client")
            # Of two threads, the first one makes the member.
            return cls._made.setdefault(code, cls._make(name, *cls._rows[name]))

        def _make(cls, name: str, code: int, message: str, retriable: bool = False) -> Any:
            member = int.__new__(cls, code)
            vars(member).update(_name_=name, _value_=int(code), __objclass__=cls, message=message, retriable=retriable)
            return member

        def __getattr__(cls, name: str) -> Any:
            row = cls.__dict__.get("_rows", {}).get(name)
            if row is None:
                raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
            return cls(row[0])

        def __setattr__(cls, name: str, value: object) -> None:
            if name in cls.__dict__.get("_rows", ()):
                raise AttributeError(f"cannot assign to {name!r}: error codes are constants")
            super().__setattr__(name, value)

        def __getitem__(cls, name: str) -> Any:
            return cls(cls._rows[name][0])

        def __iter__(cls) -> Iterator[Any]:
            return map(cls, cls._names)

        def __reversed__(cls) -> Iterator[Any]:
            return map(cls, reversed(cls._names))

        def __len__(cls) -> int:
            return len(cls._rows)

        def __contains__(cls, code: object) -> bool:
            return code in cls._names

        def __dir__(cls) -> list[str]:
            return [*super().__dir__(), *cls._rows]

        @property
        def __members__(cls) -> Mapping[str, Any]:
            return {name: cls[name] for name in cls._rows}


class CodedError(IntEnum, metaclass=CodedErrors):
    """An error code.

    Attributes:
        message: the description.
        retriable: true if a repeated request may succeed.
    """

    message: str
    retriable: bool

    if TYPE_CHECKING:

        def __new__(cls, code: int, message: str = "", retriable: bool = False) -> Self: ...
