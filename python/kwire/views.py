"""Views: messages that are checked at once and decoded where they are read.

`view` checks a complete body and finds the elements of its top-level arrays of structs. The result is an instance of a
subclass of the message class. Fields, and elements of these arrays, are decoded when they are first read, and
remembered. A view holds the body. Without the engine, the message is decoded at once instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kwire import codec
from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload
from kwire.declare.field_values import checked, contents, has
from kwire.declare.introspect import check_version, fields
from kwire.declare.lazy import LazyArray, LazyMessage
from kwire.declare.representation import short_value
from kwire.declare.unknown_tags import NO_TAGS, UnknownTags
from kwire.declare.wire_types import ArrayType, NullableType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Literal, Protocol, SupportsIndex, TypeAlias

    from kwire.codec import BytesLike
    from kwire.declare import Message, Struct
    from kwire.declare.fields import Field

    class Index(Protocol):
        """A checked body and the offsets of its parts: the engine's, or `DecodedMessage`.

        Fields are identified by their position in the version: plain fields in order, then tagged ones by tag.
        """

        @property
        def data(self) -> bytes | memoryview: ...
        @property
        def size(self) -> int: ...
        def count(self, position: int, /) -> int | None: ...
        def field(self, position: int, /) -> Any: ...
        def tagged(self, position: int, /) -> tuple[Any] | None: ...
        def unknown_tags(self) -> bytes: ...
        def element(self, position: int, element: int, /) -> Any: ...
        def elements(self, position: int, start: int, stop: int, /) -> tuple[Any, ...]: ...
        def find(
            self, position: int, names: tuple[str, ...], parts: list[bytes | None], /
        ) -> int | Literal[False] | None: ...

    Read: TypeAlias = Callable[[Index], Any]
    Remember: TypeAlias = Callable[[Any, Any], None]

M = TypeVar("M", bound="Message")
S = TypeVar("S", bound="Struct")

LARGEST_BLOCK = 512
"""Maximum number of elements that an iteration decodes at once. Blocks double from 1 up to it."""


def view(cls: type[M], data: BytesLike, *, version: int) -> M:
    """Check the body of a message and return a view, which decodes its parts when they are read.

    A view is a `View` and an instance of `cls`, and equals what `decode` returns. It holds the body: `bytes` and
    memoryviews of them without a copy, other buffers as a copy.

    Args:
        cls: the message class.
        data: the body, without header and size.
        version: the version of the message.

    Raises:
        DecodeError: the bytes are not a valid body. Every byte is checked, as by `decode`.
        UnsupportedVersion: the class does not declare `version`.
    """
    viewed: M = _opener(cls, version).open(data)
    return viewed


def find(elements: Sequence[S], /, **values: object) -> S | None:
    """Return the first element with the given values in its fields, or None.

        find(response.topics, name="orders")

    In an array of a view, integers, uuids, and strings are compared in the body, without decoding elements. The first
    call creates a hash table of the elements by these fields.

    Args:
        elements: an array of structs, of a message or of a view.
        values: the values of fields, by name.

    Raises:
        TypeError: the elements have no such field, a value has another type than its field, or there are no values.
    """
    if isinstance(elements, ArrayView):
        return cast("S | None", elements.find(**values))
    if not elements:
        return None
    key = checked(type(elements[0]), values)
    return next((element for element in elements if has(element, key)), None)


class View(LazyMessage):
    """Base class of views. A view of a `MetadataResponse` is an instance of `View` and of `MetadataResponse`.

    A view equals, hashes, and is pickled as the message, for which it decodes the message. `copy.replace` and pickle
    return messages. Arrays of structs are `ArrayView`s, which have the methods of tuples.

    If the message has a field that is called `data`, `decode`, `nbytes`, or `version`, the attribute is the field.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        _view_index: Index
        _view_opener: Opener
        _view_hash: int | None

    def __new__(cls, **values: Any) -> Any:
        """Create a message: `dataclasses.replace` calls the class of the view."""
        return cast("Any", cls).__kwire_viewed__(**values)

    def decode(self) -> Any:
        """Return the message. Every call decodes the body."""
        return self.__kwire_message__()

    @property
    def version(self) -> int:
        """The version of the body."""
        return self._view_opener.version

    @property
    def data(self) -> bytes | memoryview:
        """The body."""
        return self._view_index.data

    @property
    def nbytes(self) -> int:
        """The size of the body and its index in bytes, without the parts that have been decoded."""
        return self._view_index.size

    def __kwire_message__(self) -> Any:
        opener = self._view_opener
        return codec.decode(opener.cls, self._view_index.data, version=opener.version)

    def __getattr__(self, name: str) -> Any:
        # Called for fields that have not been read, and for names that do not exist.
        part = None if name.startswith("_") else self._view_opener.parts.get(name)
        if part is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        read, remember = part
        value = read(self._view_index)
        remember(self, value)
        return value

    def __eq__(self, other: object) -> bool:
        opener = self._view_opener
        if isinstance(other, View):
            if other._view_opener.cls is not opener.cls:
                return NotImplemented
            if other._view_opener is opener and other._view_index.data == self._view_index.data:
                return True
            other = other.__kwire_message__()
        elif type(other) is not opener.cls:
            return NotImplemented
        return bool(self.__kwire_message__() == other)

    def __hash__(self) -> int:
        cached = self._view_hash
        if cached is None:
            cached = hash(self.__kwire_message__())
            object.__setattr__(self, "_view_hash", cached)
        return cached

    def __replace__(self, /, **changes: Any) -> Any:
        return self.__kwire_message__().__replace__(**changes)

    def __reduce__(self) -> Any:
        return self.__kwire_message__().__reduce__()

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if not name.startswith("_view_")]


class ArrayView(LazyArray, Sequence[S], Generic[S]):
    """An array of structs in a view: an immutable sequence. Its elements are decoded when they are read.

    It has the methods of a tuple, and equals, hashes, and is pickled as one. Slices are tuples.
    """

    __slots__ = ("_cls", "_elements", "_index", "_position")

    def __init__(self, cls: type[Struct], index: Index, position: int, count: int) -> None:
        self._cls = cls
        self._index = index
        self._position = position
        self._elements: list[S | None] = [None] * count

    def find(self, **values: object) -> S | None:
        """Return the first element with the given values in its fields, or None. See `kwire.find`."""
        key = checked(self._cls, values)
        parts = contents(key)
        if parts is None:
            return None
        match = False if parts is False else self._index.find(self._position, tuple(values), parts)
        if match is False:
            return next((element for element in self if has(element, key)), None)
        return None if match is None else self[match]

    def __len__(self) -> int:
        return len(self._elements)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> S: ...
    @overload
    def __getitem__(self, index: slice, /) -> tuple[S, ...]: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> S | tuple[S, ...]:
        if isinstance(index, slice):
            return tuple([self[position] for position in range(*index.indices(len(self._elements)))])
        try:
            element = self._elements[index]
        except IndexError:
            raise IndexError(f"index {index!r} is out of range: the array has {len(self)} elements") from None
        if element is None:
            position = index.__index__() % len(self._elements)
            element = self._elements[position] = self._index.element(self._position, position)
        view: S = element
        return view

    def __iter__(self) -> Iterator[S]:
        block = 1
        for position in range(len(self._elements)):
            if self._elements[position] is None:
                self._load(position, position + block)
                block = min(2 * block, LARGEST_BLOCK)
            yield cast("S", self._elements[position])  # it is decoded now

    def _load(self, start: int, stop: int) -> None:
        """Decode elements from `start`, which is not decoded, up to `stop` or the next element that is."""
        stop = min(stop, len(self._elements))
        end = start + 1
        while end < stop and self._elements[end] is None:
            end += 1
        self._elements[start:end] = self._index.elements(self._position, start, end)

    def __contains__(self, value: object) -> bool:
        return any(element is value or element == value for element in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ArrayView):
            if self._index is other._index and self._position == other._position:
                return True
            other = tuple(other)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __add__(self, other: object) -> tuple[Any, ...]:
        return (*self, *other) if isinstance(other, (tuple, ArrayView)) else NotImplemented

    def __radd__(self, other: object) -> tuple[Any, ...]:
        return (*other, *self) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> tuple[S, ...]:
        return tuple(self) * times

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return short_value(self)

    def __copy__(self) -> ArrayView[S]:
        return self

    def __deepcopy__(self, memo: object) -> ArrayView[S]:
        return self

    def __reduce__(self) -> Any:
        return tuple, (list(self),)


# Classes of views


_SLOTS = ("_view_index", "_view_opener", "_view_hash")
"""The slots of a view in addition to its fields' slots. No field begins with an underscore."""


class Opener:
    """The shared part of all views of one version of a message: their class, and a reader for each field."""

    _set_index: Remember
    _set_opener: Remember
    _set_hash: Remember
    __slots__ = ("_make_index", "_set_hash", "_set_index", "_set_opener", "_view_class", "cls", "parts", "version")

    def __init__(self, cls: Any, version: int, make_index: Callable[[BytesLike], Index]) -> None:
        self.cls = cls
        self.version = version
        self._view_class = view_class = _view_class(cls)
        self._set_index, self._set_opener, self._set_hash = (vars(view_class)[name].__set__ for name in _SLOTS)
        self._make_index = make_index
        plain, tagged = _positions(cls, version)
        self.parts: dict[str, tuple[Read, Remember]] = {"unknown_tags": (_unknown_tags, cls.unknown_tags.__set__)}
        for f in fields(cls):
            read: Read
            if f in plain:
                read = _array_reader(f, plain.index(f)) or _field_reader(plain.index(f))
            elif f in tagged:
                read = _tagged_reader(len(plain) + tagged.index(f), f.default)
            else:
                read = _absent_reader(f.default)
            self.parts[f.name] = (read, getattr(cls, f.name).__set__)

    def open(self, data: BytesLike) -> Any:
        index = self._make_index(data)
        opened = object.__new__(self._view_class)
        self._set_index(opened, index)
        self._set_opener(opened, self)
        self._set_hash(opened, None)
        return opened


def _opener(cls: Any, version: int) -> Opener:
    """Return the opener of the views of a class and version, made on first use. Raises what `check_version` raises."""
    if type(version) is int:
        try:
            cached: Opener = cls.__dict__["__kwire_openers__"][version]
        except (KeyError, AttributeError):
            pass  # the first view, or not a message
        else:
            return cached
    check_version(cls, version)
    if issubclass(cls, View):
        cls = cast("Any", cls).__kwire_viewed__
    openers = cls.__dict__.get("__kwire_openers__")
    if openers is None:
        openers = cls.__kwire_openers__ = {}
    opener: Opener | None = openers.get(version)
    if opener is None:
        opener = openers[version] = Opener(cls, version, index_maker(cls, version))
    return opener


def _view_class(cls: Any) -> Any:
    """Return the class of the views of a message class, made on first use."""
    view_class = cls.__dict__.get("__kwire_view_class__")
    if view_class is None:
        namespace: dict[str, Any] = {
            "__doc__": f"A view of a `{cls.__name__}`.",
            "__module__": cls.__module__,
            "__qualname__": f"{cls.__qualname__}View",
            "__slots__": _SLOTS,
            "__kwire_viewed__": cls,
        }
        # The fields of the message have precedence over the attributes of `View`.
        namespace |= {f.name: getattr(cls, f.name) for f in fields(cls) if hasattr(View, f.name)}
        view_class = cls.__kwire_view_class__ = type(cls)(f"{cls.__name__}View", (View, cls), namespace)
        view_class.__kwire_plans__ = _PlansOfViews()
    return view_class


class _PlansOfViews(dict[int, "_PlanOfViews"]):
    """The plans of a view class, with which `kwire.encode` encodes a view: it decodes the message first."""

    def __missing__(self, version: int) -> _PlanOfViews:
        return _PLAN_OF_VIEWS


class _PlanOfViews:
    __slots__ = ()

    def encode(self, message: View, version: int) -> bytes:
        return codec.encode(message.__kwire_message__(), version=version)


_PLAN_OF_VIEWS = _PlanOfViews()


def _positions(cls: type[Message], version: int) -> tuple[list[Field], list[Field]]:
    """Return the plain and the tagged fields of a version in the order of their positions."""
    present = [f for f in fields(cls) if f.in_version(version)]
    tagged = sorted((f for f in present if f.tag is not None), key=lambda f: cast("int", f.tag))
    return [f for f in present if f.tag is None], tagged


def _array_reader(f: Field, position: int) -> Read | None:
    """Return the function that reads an array of structs, or None for another field."""
    type = f.type.inner if isinstance(f.type, NullableType) else f.type
    if not (isinstance(type, ArrayType) and isinstance(type.element, StructType)):
        return None
    struct = type.element.struct

    def read(index: Index) -> ArrayView[Any] | None:
        count = index.count(position)
        return None if count is None else ArrayView(struct, index, position, count)

    return read


def _field_reader(position: int) -> Read:
    return lambda index: index.field(position)


def _tagged_reader(position: int, default: object) -> Read:
    def read(index: Index) -> object:
        value = index.tagged(position)
        return default if value is None else value[0]

    return read


def _absent_reader(default: object) -> Read:
    return lambda _: default


def _unknown_tags(index: Index) -> UnknownTags:
    raw = index.unknown_tags()
    return UnknownTags(raw) if raw else NO_TAGS


# Indexes


def index_maker(cls: type[Message], version: int) -> Callable[[BytesLike], Index]:
    """Return the function that checks a body and creates its index: of the engine, or without it `DecodedMessage`."""
    plan = codec.compiled(cls, version)
    try:
        from kwire._kwire import Index
    except ImportError:
        return partial(DecodedMessage, cls, version)
    return partial(Index, plan)


class DecodedMessage:
    """A decoded message with the interface of an index, for views without the engine."""

    def __init__(self, cls: type[Message], version: int, data: BytesLike) -> None:
        self.data = data if type(data) is bytes else bytes(memoryview(data))
        self._message = codec.decode(cls, self.data, version=version)
        plain, tagged = _positions(cls, version)
        self._names = [f.name for f in (*plain, *tagged)]

    @property
    def size(self) -> int:
        return len(self.data)

    def count(self, position: int) -> int | None:
        value = self.field(position)
        return None if value is None else len(value)

    def field(self, position: int) -> Any:
        return getattr(self._message, self._names[position])

    def tagged(self, position: int) -> tuple[Any]:
        return (self.field(position),)

    def unknown_tags(self) -> bytes:
        tags: Any = self._message.unknown_tags
        raw: bytes = tags.raw
        return raw

    def element(self, position: int, element: int) -> Any:
        return self.field(position)[element]

    def elements(self, position: int, start: int, stop: int) -> tuple[Any, ...]:
        block: tuple[Any, ...] = self.field(position)[start:stop]
        return block

    def find(self, *_: object) -> Literal[False]:
        """Return False: values are compared as objects."""
        return False
