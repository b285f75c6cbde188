"""Forged objects, used in a child process. Each function returns what happened.

`object.__new__` leaves slots unset, and `object.__setattr__` sets them to any object. Python allows both, so neither
may crash. An exception is allowed, and a leak of a forged cycle.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import kwire
from tests.soundness.declared import Aged, Ages, Leaf

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = 300_000


def chain(in_tuples: bool) -> Leaf:
    last = Leaf()
    for _ in range(LONG):
        holder = Leaf()
        object.__setattr__(holder, "inner", (last,) if in_tuples else last)
        last = holder
    return last


def cycle(in_tuples: bool) -> Leaf:
    leaf = Leaf()
    object.__setattr__(leaf, "inner", (leaf,) if in_tuples else leaf)
    return leaf


def made(form: str) -> Leaf:
    return {"chain": chain, "cycle": cycle}[form.removesuffix(" of tuples")](form.endswith("tuples"))


def freed(form: str) -> str:
    forged = made(form)
    del forged
    gc.collect()
    return "freed"


def attempted(form: str, action: str) -> str:
    """Return the name of the exception that `action` raises for a forged object."""
    one, other = made(form), made(form)
    actions: dict[str, Callable[[], object]] = {
        "hash": lambda: hash(one),
        "compare": lambda: one == other,
        "compare unequal": lambda: one != other,
        "encode": lambda: kwire.encode(Ages(items=(Aged(old=1), one)), version=0),  # type: ignore[arg-type]  # forged
    }
    try:
        return repr(actions[action]())
    except (RecursionError, kwire.EncodeError) as error:
        return type(error).__name__


def encoded_with_evil_equality(lies: str) -> str:
    """Encode a message with an absent field that clears the message while it is compared."""
    message = Ages(items=tuple(Aged(present=1000 + n) for n in range(100)))

    class Evil(int):
        def __eq__(self, other: object) -> bool:
            object.__setattr__(message, "items", ())
            gc.collect()
            _junk = [("x",) * 100 for _ in range(10_000)]
            return lies == "equal"

        __hash__ = int.__hash__

    object.__setattr__(message.items[0], "old", Evil(0))
    try:
        kwire.encode(message, version=1)
    except kwire.EncodeError as error:
        return f"rejected at {error.path}"
    return "encoded"


def compared_with_evil_equality() -> str:
    """Compare structs with a value that clears the slots of both structs."""
    one, other = Leaf(number=1), Leaf(number=1)

    class Evil(int):
        def __eq__(self, compared: object) -> bool:
            for leaf in (one, other):
                object.__setattr__(leaf, "number", 0)
                object.__setattr__(leaf, "load", str(id(leaf)))
                object.__delattr__(leaf, "inner")
            gc.collect()
            return True

        __hash__ = int.__hash__

    object.__setattr__(one, "number", Evil(1))
    object.__setattr__(other, "number", Evil(1))
    one == other  # noqa: B015  # that it comes back is the point
    return "came back"


def freed_in_a_finalizer() -> str:
    """Free a struct with a value that creates, compares, and frees structs of the same class in its finalizer."""

    class Busy:
        def __del__(self) -> None:
            chains = [chain(in_tuples=False) for _ in range(2)]
            chains.clear()

    leaf = Leaf()
    object.__setattr__(leaf, "inner", Busy())
    del leaf
    return "freed"
