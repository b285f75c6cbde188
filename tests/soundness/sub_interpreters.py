"""Sub-interpreters of this process, as mod_wsgi creates them, and programs that run in them.

The functions without a parameter run in a child process (`children.outcome`). They return "passed" or fail.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

PRELUDE = f"import sys; sys.path[:] = {sys.path!r}\n"

USE = """
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import kwire
    from kwire.messages.kafka import ApiVersionsResponse

    message = ApiVersionsResponse(error_code=35, api_keys=(), throttle_time_ms=7)
    data = kwire.encode(message, version=3)
    assert kwire.decode(ApiVersionsResponse, data, version=3) == message
    kwire.validate(ApiVersionsResponse, data, version=3)
    try:
        kwire.decode(ApiVersionsResponse, data[:-1], version=3)
    except kwire.DecodeError as error:
        assert error.kind == "truncated", error.kind
    else:
        raise AssertionError("truncated bytes were accepted")
    try:
        kwire.encode(ApiVersionsResponse(error_code=1 << 40, api_keys=()), version=3)
    except kwire.EncodeError as error:
        assert error.path == ("error_code",), error.path
    else:
        raise AssertionError("a number out of range was accepted")
"""
"""Use both directions of the codec, and catch its exceptions."""

ENGINE = """
import kwire._kwire
assert not caught, [str(warning.message) for warning in caught]
assert kwire.columns(ApiVersionsResponse, [data], version=3, rows="").num_rows == 1
"""

REFERENCE = """
[warning] = caught
assert warning.category is RuntimeWarning, warning
assert "slow reference codec" in str(warning.message), warning
assert "interpreter" in str(warning.message), warning
try:
    kwire.columns(ApiVersionsResponse, [data], version=3, rows="")
except ImportError as error:
    assert "kwire.columns needs the compiled module" in str(error), error
    assert "interpreter" in str(error), error
else:
    raise AssertionError("columns work without the engine")
"""


class SubInterpreter:
    """A sub-interpreter. A legacy one shares the GIL, as those of mod_wsgi do; others have their own from 3.12 on."""

    def __init__(self, *, legacy: bool = True) -> None:
        if sys.version_info >= (3, 13):
            self._api: Any = importlib.import_module("_interpreters")
            self._id = self._api.create("legacy" if legacy else "isolated")
        else:
            self._api = importlib.import_module("_xxsubinterpreters")
            self._id = self._api.create(isolated=not legacy)

    def run(self, program: str) -> None:
        failed = self._api.run_string(self._id, PRELUDE + program)  # before 3.13 it raises instead
        assert failed is None, failed.formatted

    def end(self) -> None:
        self._api.destroy(self._id)


def use_in_main() -> None:
    exec(USE + ENGINE, {})


def first_in_a_sub_interpreter() -> str:
    sub = SubInterpreter()
    sub.run(USE + REFERENCE)
    use_in_main()
    sub.run(USE)
    sub.end()
    use_in_main()
    return "passed"


def first_in_the_main_interpreter() -> str:
    use_in_main()
    sub = SubInterpreter()
    sub.run(USE + REFERENCE)
    use_in_main()
    sub.end()
    use_in_main()
    return "passed"


def several_in_turn() -> str:
    for _ in range(3):
        sub = SubInterpreter()
        sub.run(USE + REFERENCE)
        sub.end()
        use_in_main()
    return "passed"


def several_at_once() -> str:
    subs = [SubInterpreter() for _ in range(3)]
    for sub in subs:
        sub.run(USE + REFERENCE)
    use_in_main()
    for sub in subs:
        sub.run(USE)
        sub.end()
        use_in_main()
    return "passed"


def one_with_a_lock_of_its_own() -> str:
    sub = SubInterpreter(legacy=False)
    sub.run(USE + REFERENCE)
    use_in_main()
    sub.end()
    use_in_main()
    return "passed"
