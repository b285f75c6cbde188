"""Encoding and decoding of messages by the engine, or by the reference codec if the compiled module is missing.

The plan of each class and version is compiled on first use and cached on the class. The overhead of a call matters: an
ApiVersions response is decoded in two microseconds.
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
    """Decode the body of a message.

    Args:
        cls: the message class.
        data: the body, without header and size.
        version: the version of the message.

    Raises:
        DecodeError: the bytes are not a valid body.
        UnsupportedVersion: the class does not declare `version`.
    """
    try:
        plan = cls.__kwire_plans__[version]
    except _NO_PLAN:
        plan = _compile(cls, version)
    return plan.decode(data, version)  # type: ignore[no-any-return]  # the plan creates instances of cls


def encode(message: Message, *, version: int) -> bytes:
    """Encode the body of a message.

    Raises:
        EncodeError: a value is invalid or not supported by `version`.
        UnsupportedVersion: the class does not declare `version`.
    """
    cls: Any = type(message)
    try:
        plan = cls.__kwire_plans__[version]
    except _NO_PLAN:
        if isinstance(message, type):
            raise TypeError(f"message: expected an instance, found the class {message.__name__}") from None
        plan = _compile(cls, version)
    return plan.encode(message, version)  # type: ignore[no-any-return]  # bytes


def validate(cls: type[Message], data: BytesLike, *, version: int) -> None:
    """Check the body of a message without creating objects. Raises what `decode` raises."""
    try:
        plan = cls.__kwire_plans__[version]
    except _NO_PLAN:
        plan = _compile(cls, version)
    plan.validate(data, version)


def plan(cls: type[Message], *, version: int) -> str:
    """Return the plan of one version of a message as text. `docs/plans.md` has the grammar."""
    from kwire.declare.plan_text import plan_source

    return plan_source(cls, version).text


def compiled(cls: type[Message], version: int) -> Any:
    """Return the compiled plan of a class and version. Raises what `decode` raises for them."""
    return cls.__kwire_plans__.get(version) or _compile(cls, version)


_NO_PLAN = (KeyError, AttributeError, TypeError)
"""Raised by the look-up of a plan that is not compiled yet, a class that is not a message, or an invalid version.

`_compile` distinguishes these cases, so that a call with a cached plan checks only the type of the version. The plan
does, because `True` and `1.0` equal the key 1.
"""


def _compile(cls: type[Message], version: int) -> Any:
    """Compile the plan of a class and version, and cache it on the class. Raises what `check_version` raises."""
    from kwire.declare.introspect import check_version

    check_version(cls, version)
    plans: dict[int, Any] | None = cls.__dict__.get("__kwire_plans__")
    if plans is None:
        # A derived class without class keywords: its plans create its own instances.
        plans = {}
        cls.__kwire_plans__ = plans
    elif version in plans:
        return plans[version]
    plan = _engine_plan(cls, version) if _ENGINE_AVAILABLE else _ReferencePlan(cls, version)
    plans[version] = plan
    return plan


def _engine_plan(cls: type[Message], version: int) -> Plan:
    from kwire._kwire import Plan
    from kwire.declare.introspect import fields
    from kwire.declare.plan_text import plan_source

    source = plan_source(cls, version)
    # The engine sets absent fields to their defaults, and compares values with them before it drops a value. It also
    # needs the objects that missing tags of structs stand for.
    structs = tuple(
        (s, {f.name: f.default for f in fields(s) if f.tag is not None or not f.in_version(version)})
        for s in source.structs
    )
    return Plan(source.text, structs)


def uses_engine() -> bool:
    """Return whether the engine is used. Otherwise the reference codec is, which is many times slower."""
    return _ENGINE_AVAILABLE


class _ReferencePlan:
    """The reference codec with the interface of a compiled plan."""

    __slots__ = ("cls", "version")

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version

    def decode(self, data: BytesLike, version: int) -> Any:
        from kwire.reference import decode

        return decode(self.cls, data, version=version)

    def encode(self, message: Message, version: int) -> bytes:
        from kwire.reference import encode

        return encode(message, version=version)

    def validate(self, data: BytesLike, version: int) -> None:
        from kwire.reference import validate

        validate(self.cls, data, version=version)


try:
    import kwire._kwire  # noqa: F401  # used where plans are compiled
except ImportError as error:
    from warnings import warn

    _ENGINE_AVAILABLE = False
    warn(
        f"using the slow reference codec, because the compiled module of kwire cannot be imported: {error}",
        RuntimeWarning,
        stacklevel=2,
    )
else:
    _ENGINE_AVAILABLE = True
