"""The base classes of declarations: `Struct`, `Message`, and `Request`.

Creating a class only collects names and makes slots. Everything that needs field types, including the constructor, is
created on first use, because a program imports many messages and uses few. Instances are immutable, hold only immutable
values, and therefore never form cycles; the native object layer relies on this.
"""

from __future__ import annotations

import sys

from kwire._util.secret import HIDDEN
from kwire.declare.fields import MISSING, NO_OPTIONS, Declared, Options
from kwire.declare.secrets import is_secret
from kwire.declare.unknown_tags import NO_TAGS, UnknownTags, unknown_tags
from kwire.declare.versions import VersionRange
from kwire.declare.wire_types import WireType
from kwire.errors import DeclarationError, EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

_native_adopt: Any
try:
    from kwire._kwire import adopt as _native_adopt
except ImportError:  # classes behave the same, only slower: the methods of `Struct` specify what the native ones do
    _native_adopt = None

_RESERVED = frozenset(("unknown_tags",))
_RESERVED_IN_MESSAGES = frozenset(("unknown_tags", "api_key", "versions", "flexible"))
_HOOKS = frozenset(
    (
        "__annotations__",
        "__copy__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__deepcopy__",
        "__match_args__",
        "__orig_bases__",
        "__post_init__",
        "__reduce__",
        "__rich_repr__",
        "__signature__",
    )
)
"""Attributes for other libraries. `dir()` and `help()` of a class leave them out."""


class _ClassDocumentation:
    """`__doc__` of struct classes: the docstring followed by the list of fields, generated on access."""

    def __get__(self, cls: Any, owner: object) -> str | None:
        if cls is None:
            return "The metaclass of declarations: turns annotated names into slots."
        text: str | None = cls.__dict__.get("__doc__")
        if not cls.__kwire_fields__:
            return text
        from kwire.declare.documentation import class_documentation

        return class_documentation(cls, text)

    def __set__(self, cls: type, value: str | None) -> None:
        type.__dict__["__doc__"].__set__(cls, value)


class StructMeta(type):
    # Class keywords of messages are the arguments of `_declare_message`. Class keywords of every struct: `key` names
    # the fields that identify an element of an unordered array (Kafka's mapKey), and `weakref=True` allows weak
    # references to instances.

    __kwire_fields__: tuple[Declared, ...]
    __kwire_names__: tuple[str, ...]
    __kwire_key__: tuple[str, ...]
    __doc__ = _ClassDocumentation()

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        key: str | tuple[str, ...] | None = None,
        weakref: bool = False,
        **message: Any,
    ) -> StructMeta:
        declared = _declared_fields(name, bases, namespace)
        own = tuple(d.name for d in declared if d.name not in _inherited_slots(bases))
        extra = namespace.get("__slots__", ())
        extra = (extra,) if isinstance(extra, str) else tuple(extra)
        if weakref:
            extra += ("__weakref__",)
        namespace["__slots__"] = own + extra
        namespace["__kwire_fields__"] = declared
        namespace["__kwire_names__"] = tuple([d.name for d in declared])
        if key is not None:
            namespace["__kwire_key__"] = _key(name, declared, (key,) if isinstance(key, str) else key)
        if bases:
            # Every class gets its own: otherwise a derived class would run the constructor of its base.
            namespace["__init__"] = _first_construction
        self = super().__new__(cls, name, bases, namespace)
        if message:
            _declare_message(self, **message)
        elif hasattr(self, "__kwire_plans__"):
            # A class derived from a message: its plans must create its own instances.
            self.__kwire_plans__ = {}
        _adopt(self, declared)
        return self

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_: object) -> None:
        super().__init__(name, bases, namespace)

    def __setattr__(cls, name: str, value: object) -> None:
        if name in ("api_key", "versions", "flexible"):
            raise AttributeError(f"{cls.__name__}.{name} is part of the declaration and cannot be changed")
        super().__setattr__(name, value)

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in _HOOKS and not name.startswith("__kwire_")]


def _declared_fields(name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> tuple[Declared, ...]:
    """Return the inherited fields, then the fields of the class body in order, which are removed from `namespace`."""
    declared: dict[str, Declared] = {}
    for base in bases:
        for inherited in getattr(base, "__kwire_fields__", ()):
            declared[inherited.name] = inherited
    is_message = any(getattr(base, "__kwire_is_message__", False) for base in bases)
    reserved = _RESERVED_IN_MESSAGES if is_message else _RESERVED
    # Structs that are declared in a function are found only in its frame, which is looked up once.
    scope: dict[str, Any] | None = None
    if "__annotate_func__" in namespace:
        _store_annotations(namespace)
    annotations = namespace.get("__annotations__", {})
    for attribute, annotation in annotations.items():
        if _is_class_variable(annotation):
            continue
        if attribute in reserved:
            raise DeclarationError(name, attribute, "this name is reserved: every instance has this attribute")
        if attribute.startswith("_"):
            raise DeclarationError(name, attribute, "field names must not begin with an underscore")
        options = namespace.pop(attribute, NO_OPTIONS)
        if not isinstance(options, Options):
            options = Options(options, 0, None, None, False, 0, True, None, False)
        problem = options.problem()
        if problem:
            raise DeclarationError(name, attribute, problem)
        if scope is None and isinstance(annotation, str):
            scope = _enclosing_structs(sys._getframe(2))
        declared[attribute] = Declared(attribute, annotation, options, scope)
    # After the loop: `sensitive=` may name a field that is declared later.
    for d in declared.values():
        if isinstance(d.options.sensitive, str) and d.options.sensitive not in declared:
            raise DeclarationError(name, d.name, "sensitive= names an unknown field")
    for attribute, value in namespace.items():
        if isinstance(value, Options):
            raise DeclarationError(name, attribute, "a field needs a type: add an annotation")
    return tuple(declared.values())


def _store_annotations(namespace: dict[str, Any]) -> None:
    """Replace the function that computes the annotations of a class body (PEP 649) by the annotations.

    From CPython 3.14 on, a body has such a function unless its module imports `annotations` from `__future__`. The
    annotations are evaluated, as CPython up to 3.13 did. If one names something that is not defined yet, which was an
    error there, all annotations are strings, as with the import.
    """
    if sys.version_info >= (3, 14):
        from annotationlib import Format, call_annotate_function

        annotate = namespace.pop("__annotate_func__")
        try:
            namespace["__annotations__"] = call_annotate_function(annotate, Format.VALUE)
        except (NameError, AttributeError):
            namespace["__annotations__"] = call_annotate_function(annotate, Format.STRING)


def _is_class_variable(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.removeprefix("typing.").startswith("ClassVar")
    # By its text, because importing `typing` would take longer than creating all classes of a message.
    return type(annotation).__module__ == "typing" and repr(annotation).startswith("typing.ClassVar")


def _enclosing_structs(frame: Any) -> dict[str, Any]:
    """Return the structs and types of an enclosing function, which annotations may name besides module globals."""
    if frame.f_locals is frame.f_globals:
        return {}
    return {name: value for name, value in frame.f_locals.items() if isinstance(value, (StructMeta, WireType))}


def _key(name: str, declared: tuple[Declared, ...], key: tuple[str, ...]) -> tuple[str, ...]:
    names = {d.name for d in declared}
    for part in key:
        if part not in names:
            raise DeclarationError(name, part, "key= names an unknown field")
    return key


def _inherited_slots(bases: tuple[type, ...]) -> frozenset[str]:
    return frozenset(d.name for base in bases for d in getattr(base, "__kwire_fields__", ()))


def _declare_message(
    cls: StructMeta,
    *,
    api_key: int | None = None,
    versions: str | None = None,
    flexible: str | None = None,
    dialect: str | tuple[str, ...] | None = None,
    header_version: int | dict[int, int] | None = None,
    header: bool | None = None,
    record_type: int | None = None,
) -> None:
    """Check the class keywords of a message and store them on the class."""
    name = cls.__name__
    if not getattr(cls, "__kwire_is_message__", False):
        raise DeclarationError(name, None, "api_key=, versions=, and flexible= are for a Message, not for a Struct")
    if versions is None:
        raise DeclarationError(name, None, "a message needs versions=")
    try:
        supported = VersionRange(versions)
        flexible_range = VersionRange(flexible) if flexible is not None else None
    except ValueError as error:
        raise DeclarationError(name, None, str(error)) from None
    if api_key is not None and not 0 <= api_key <= 0x7FFF:
        raise DeclarationError(name, None, f"api_key={api_key} does not fit the int16 of the header")
    if record_type is not None and not 0 <= record_type <= 0x7FFF:
        raise DeclarationError(name, None, f"record_type={record_type} does not fit the int16 before a key")
    if flexible_range is not None and flexible_range.lowest > supported.highest:
        raise DeclarationError(name, None, f"flexible={flexible!r} begins after versions={versions!r} ends")
    declare = super(StructMeta, cls).__setattr__
    declare("api_key", -1 if api_key is None else api_key)
    declare("versions", supported)
    declare("flexible", flexible_range)
    cls.__kwire_dialects__ = (dialect,) if isinstance(dialect, str) else dialect or ("kafka",)
    cls.__kwire_header_version__ = header_version
    cls.__kwire_is_header__ = bool(header)
    cls.__kwire_record_type__ = record_type
    cls.__kwire_plans__ = {}


def _adopt(cls: StructMeta, declared: tuple[Declared, ...]) -> None:
    """Pass the class to the native object layer, if available, before it has instances."""
    if _native_adopt is not None and declared:
        _native_adopt(cls, cls.__kwire_names__)


def _first_construction(self: Any, /, **values: Any) -> None:
    """Create an instance from keyword arguments."""
    # Replaces itself with the real constructor of the class, for which this is the first instance. Misspelled names are
    # found before, and once there is an instance by CPython, which suggests names since 3.13.
    from kwire.declare.constructor import check_names, make_constructor

    check_names(type(self), values)
    make_constructor(type(self))
    self.__init__(**values)


_first_construction.__name__ = "__init__"  # as help() shows it


class _DataclassFields:
    """Descriptor that builds `__dataclass_fields__` on first access, so that structs are dataclasses at no cost."""

    def __get__(self, instance: object, owner: Any) -> Any:
        if not owner.__kwire_fields__:
            raise AttributeError("__dataclass_fields__")
        from kwire.declare.dataclass_interface import dataclass_fields

        of_class, of_instance = dataclass_fields(owner)
        return of_class if instance is None else of_instance


class _DataclassInterface:
    """Descriptor that calls a function of `dataclass_interface` with the class on access."""

    def __init__(self, function: str) -> None:
        self._function = function

    def __get__(self, instance: object, owner: StructMeta) -> Any:
        from kwire.declare import dataclass_interface

        return getattr(dataclass_interface, self._function)(owner)


class Struct(metaclass=StructMeta):
    """A part of a message. Annotated names become fields, in wire order.

    Instances are immutable, compare and hash by value, can be pickled, and are dataclasses. The constructor takes
    keywords only. Array fields are tuples; the constructor also converts lists, which type checkers reject.
    `unknown_tags` holds the tagged fields that the declaration does not know.

    `repr()` shortens long arrays, strings, and bytes, and hides secrets. `kwire.full_repr()` hides only secrets, and
    `kwire.to_json()` returns Kafka's JSON form.
    """

    __slots__ = ("unknown_tags",)
    if TYPE_CHECKING:
        unknown_tags: UnknownTags
    __kwire_is_message__: ClassVar[bool] = False
    __kwire_key__ = ()
    __dataclass_fields__ = _DataclassFields()
    __dataclass_params__ = _DataclassInterface("dataclass_parameters")
    __signature__ = _DataclassInterface("signature")
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Set `unknown_tags` after a dataclass library has set the fields without calling the constructor."""
        if not hasattr(self, "unknown_tags"):
            object.__setattr__(self, "unknown_tags", NO_TAGS)

    def __setattr__(self, name: str, value: object) -> None:
        _raise_frozen(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        _raise_frozen(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _comparison_key(self) == _comparison_key(other)

    def __hash__(self) -> int:
        return hash(_comparison_key(self))

    def __repr__(self) -> str:
        from kwire.declare.representation import short_repr

        return short_repr(self)  # type: ignore[arg-type]  # type checkers see `_typing.Struct`

    def __rich_repr__(self) -> Any:
        from kwire.declare.introspect import fields

        cls: Any = type(self)
        for f in fields(cls):
            value = getattr(self, f.name)
            yield f.name, HIDDEN if is_secret(self, f, value) else value, f.default
        yield "unknown_tags", self.unknown_tags, NO_TAGS

    def __replace__(self, /, **changes: Any) -> Any:
        values = {d.name: getattr(self, d.name) for d in type(self).__kwire_fields__}
        values["unknown_tags"] = self.unknown_tags
        return type(self)(**(values | changes))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce__(self) -> Any:
        # Pickle stores the tuple of names once for each class, because all instances share it.
        cls = type(self)
        names = cls.__kwire_names__
        values = tuple([getattr(self, name) for name in names])
        tags = self.unknown_tags
        return _unpickle, (cls, names, values, () if tags is NO_TAGS else tuple(tags.items()))


def _generated_repr() -> None:
    """Stand-in for the `__repr__` that `@dataclass` generates: `pprint` formats only dataclasses that have one."""


_generated_repr.__qualname__ = "__create_fn__.<locals>.__repr__"
Struct.__repr__.__wrapped__ = _generated_repr  # type: ignore[attr-defined]  # functions accept attributes


class Message(Struct):
    """The body of a request or response.

    `api_key` is Kafka's number of the API, -1 for headers. `versions` is the range of declared versions, `flexible` the
    range of versions with compact lengths and tagged fields, or None.
    """

    __slots__ = ()
    __kwire_is_message__: ClassVar[bool] = True
    __kwire_response__: ClassVar[str | None] = None
    api_key: ClassVar[int]
    versions: ClassVar[VersionRange]
    flexible: ClassVar[VersionRange | None]


class _RequestBase:
    """`Request["XResponse"]` in a list of bases: the base class `Request` and the name of the response."""

    __slots__ = ("response",)

    def __init__(self, response: str) -> None:
        self.response = response

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (Request,)


class Request(Message):
    """A message that has a response: `class XRequest(Request["XResponse"], ...)`."""

    __slots__ = ()

    def __class_getitem__(cls, response: object) -> Any:
        return _RequestBase(response if isinstance(response, str) else getattr(response, "__name__", str(response)))

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in cls.__dict__.get("__orig_bases__", ()):
            if isinstance(base, _RequestBase):
                cls.__kwire_response__ = base.response

    @property
    def has_response(self) -> bool:
        """True if the broker responds. Requests that can ask for no response override it, such as Produce."""
        return True


# These annotations serve only mypy. `typing.get_type_hints` of a struct would fail on them, since `ClassVar` is not
# imported at run time.
for _base in (Struct, Message):
    _base.__annotations__.clear()


def _comparison_key(instance: Any) -> tuple[object, ...]:
    """Return every field and the unknown tags, with each NaN replaced by its bits."""
    values = [comparable(getattr(instance, d.name)) for d in type(instance).__kwire_fields__]
    return (*values, instance.unknown_tags)


def comparable(value: object) -> object:
    """Return the value of a field with each NaN replaced by its bits, so that equal values are equal."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124  # NaN
        from struct import pack

        return pack(">d", value)
    if isinstance(value, tuple):
        return tuple([comparable(item) for item in value])
    return value


def _raise_frozen(text: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(text)


def _unpickle(
    cls: StructMeta, names: tuple[str, ...], values: tuple[Any, ...], tags: tuple[tuple[int, bytes], ...]
) -> Any:
    """Create an instance from pickled fields. The class can have gained or lost fields since.

    Raises:
        EncodeError: the class has no such field, requires a field that is not in the pickle, or rejects a value.
    """
    if names != cls.__kwire_names__:
        _check_pickled_names(cls, names)
    return cls(**dict(zip(names, values, strict=True)), unknown_tags=dict(tags) if tags else NO_TAGS)


def _check_pickled_names(cls: Any, names: tuple[str, ...]) -> None:
    from kwire.declare.introspect import fields

    fields_by_name = {f.name: f for f in fields(cls)}
    for name in names:
        if name not in fields_by_name:
            reason = f"{cls.__name__} has no such field, but the pickle has: it was written with another declaration"
            raise EncodeError("not_in_version", (name,), reason)
    for name, f in fields_by_name.items():
        if name not in names and f.default is MISSING:
            reason = f"{cls.__name__} requires this field, and the pickle does not have it"
            raise EncodeError("wrong_type", (name,), reason)


__all__ = ["MISSING", "Message", "Request", "Struct", "StructMeta", "UnknownTags", "unknown_tags"]
