"""Names of Kafka that are numbers on the wire."""

from __future__ import annotations

from enum import StrEnum

from kwire._util.light_typing import Self


class CodedName(StrEnum):
    """A name of Kafka with its number on the wire. Number 0 is `UNKNOWN` and stands for all numbers without a name."""

    code: int

    def __new__(cls, name: str, code: int) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.code = code
        return member

    @property
    def camel_case(self) -> str:
        """The name as Kafka's tools print it and ZooKeeper has it, such as `DescribeConfigs`."""
        return "".join(word.capitalize() for word in self.value.split("_"))

    @classmethod
    def of_code(cls, code: int) -> Self:
        """Return the name for a number, and the name of 0 for an unknown number."""
        names = {member.code: member for member in cls}
        return names.get(code, names[0])
