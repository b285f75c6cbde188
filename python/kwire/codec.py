"""Bytes to objects and back, by the engine; by the reference where the engine is not at hand, said once in a warning.

Rules of this file: one cached plan per (class, version), made on first use. What a call costs beyond the engine's own
work counts here: an ApiVersions answer takes two microseconds in all.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeVar

    from kwire._kwire import Plan
    from kwire.declare import Message

    BytesLike: TypeAlias = bytes | bytearray | memoryview
    M = TypeVar("M", bound=Message)


def decode(cls: type[M], data: BytesLike, *, version: int) -> M:
    """Read the body of one message. ``data``: bytes-like, the body and nothing else.

    Raises DecodeError for bytes that are no such body, UnsupportedVersion for a version the class does not declare.
    """
    try:
        plan = cls.__kwire_plans__[version]
    except _NO_PLAN:
        plan = _compile(cls, version)
    return plan.decode(data)  # type: ignore[no-any-return]  # an instance of cls, since the plan was made from it


def encode(message: Message, *, version: int) -> bytes:
    """Write the body of one message. Raises EncodeError for a value that this version cannot hold, with its path."""
    cls: Any = type(message)
    try:
        plan = cls.__kwire_plans__[version]
    except _NO_PLAN:
        if isinstance(message, type):
            raise TypeError(f"message: expected an instance, not the class {message.__name__}") from None
        plan = _compile(cls, version)
    return plan.encode(message)  # type: ignore[no-any-return]  # as above


def validate(cls: type[Message], data: BytesLike, *, version: int) -> None:
    """Raise what ``decode`` would raise; make no objects."""
    try:
        plan = cls.__kwire_plans__[version]
    except _NO_PLAN:
        plan = _compile(cls, version)
    plan.validate(data)


def plan(cls: type[Message], *, version: int) -> str:
    """The text that the engine follows for one version of a message; ``docs/plans.md`` has its grammar."""
    from kwire.declare.plan_text import plan_source

    return plan_source(cls, version).text


def compiled(cls: type[Message], version: int) -> Any:
    """The plan of a class at a version, for those who do something else with it. Raises UnsupportedVersion."""
    return cls.__kwire_plans__.get(version) or _compile(cls, version)


_NO_PLAN = (KeyError, AttributeError, TypeError)
"""A plan not made yet, a class that is no message, a version that is no number: looking it up raises these.

``_compile`` tells them apart, so that a call that finds its plan checks nothing.
"""


def _compile(cls: type[Message], version: int) -> Any:
    """The plan of a class at a version, from now on kept with the class. Raises what ``check_version`` does."""
    from kwire.declare.introspect import check_version

    check_version(cls, version)
    plans: dict[int, Any] | None = cls.__dict__.get("__kwire_plans__")
    if plans is None:
        # A subclass without class keywords of its own: its plans build its own instances.
        plans = {}
        cls.__kwire_plans__ = plans
    elif version in plans:
        return plans[version]
    made = _engine_plan(cls, version) if _ENGINE_AT_HAND else _ReferencePlan(cls, version)
    plans[version] = made
    return made


def _engine_plan(cls: type[Message], version: int) -> Plan:
    from kwire._kwire import Plan
    from kwire.declare.introspect import fields
    from kwire.declare.plan_text import plan_source

    source = plan_source(cls, version)
    # Defaults of absent fields: what the engine puts there, and what it compares with before it drops a value.
    structs = tuple((s, {f.name: f.default for f in fields(s) if not f.in_version(version)}) for s in source.structs)
    return Plan(source.text, structs)


class _ReferencePlan:
    """The reference codec in the shape of an engine's plan."""

    __slots__ = ("cls", "version")

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version

    def decode(self, data: BytesLike) -> Any:
        from kwire.reference import decode

        return decode(self.cls, data, version=self.version)

    def encode(self, message: Message) -> bytes:
        from kwire.reference import encode

        return encode(message, version=self.version)

    def validate(self, data: BytesLike) -> None:
        from kwire.reference import validate

        validate(self.cls, data, version=self.version)


try:
    import kwire._kwire  # noqa: F401  # asked for here, used where plans are made
except ImportError:
    from warnings import warn

    _ENGINE_AT_HAND = False
    warn(
        "kwire's compiled module is missing: the slow reference codec works in its place",
        RuntimeWarning,
        stacklevel=2,
    )
else:
    _ENGINE_AT_HAND = True
