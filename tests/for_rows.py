"""Rows of data as subtests of one test.

pytest collects, schedules, and reports each parametrized case as a test of its own, which costs more than a row of
data that takes a millisecond. `for_rows` has the parameters of `pytest.mark.parametrize` and runs all rows in one test.

    @for_rows("text, expected", [("1", 1), ("2", 2)])
    def test_numbers_are_read(text: str, expected: int) -> None: ...

A failed row is reported with its id, and the others run all the same. Rows share the fixtures of the test, so a test
with a fixture that it changes, such as `tmp_path`, remains parametrized.
"""

from __future__ import annotations

import inspect
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["for_rows"]


def for_rows(
    names: str | Sequence[str],
    values: Iterable[Any],
    *,
    ids: Callable[[Any], object] | Iterable[object] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test once for each row.

    Args:
        names: names of the parameters, as a list or separated by commas.
        values: a tuple for each row; for a single parameter, its value. A `pytest.param` gives a row an id.
        ids: the id of each row, or a function of a value that returns its part of the id.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(values)
    row_ids = ids if ids is None or callable(ids) else list(ids)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in parameters]

        def run(*instance: Any, subtests: pytest.Subtests, **arguments: Any) -> None:
            if "subtests" in signature.parameters:  # another `for_rows` below this one
                arguments["subtests"] = subtests
            for number, row in enumerate(table):
                row_values = _values(row, len(parameters))
                try:
                    function(*instance, **arguments, **dict(zip(parameters, row_values, strict=True)))
                except (Exception, pytest.fail.Exception):
                    # Only a failure becomes a subtest: reporting one takes longer than most rows.
                    with subtests.test(_id(row, row_values, number, row_ids)):
                        raise

        run.__name__, run.__qualname__, run.__doc__ = function.__name__, function.__qualname__, function.__doc__
        run.__module__ = function.__module__
        run.__dict__.update(function.__dict__)  # marks that stand below this decorator
        own = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
        kept = [fixture for fixture in fixtures if fixture.name != "subtests"]
        run.__signature__ = inspect.Signature([*kept, own])  # type: ignore[attr-defined]  # read by `inspect`
        return run

    return decorate


def _values(row: Any, count: int) -> tuple[Any, ...]:
    if isinstance(row, type(pytest.param())):
        return tuple(row.values)
    return tuple(row) if count > 1 else (row,)


def _id(row: Any, values: tuple[Any, ...], number: int, ids: Any) -> str:
    if isinstance(row, type(pytest.param())) and row.id is not None:
        return str(row.id)
    if ids is not None and not callable(ids):
        return str(ids[number])
    return "-".join(_part(value, number, ids) for value in values)


def _part(value: Any, number: int, name: Callable[[Any], object] | None) -> str:
    text = name(value) if name is not None else None
    if text is not None:
        return str(text)
    if isinstance(value, (str, int, float, bool, bytes, Enum)) or value is None:
        return str(value)
    return getattr(value, "__name__", None) or str(number)
