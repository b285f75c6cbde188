"""Interpreters with another layout of objects, simulated by what the engine measures when it is imported.

The functions run in a child process (`children.outcome`) before anything imports kwire. They return the warning with
which the package falls back to the reference codec.
"""

from __future__ import annotations

import builtins
import gc
import sys
import types
from typing import Any

from tests.soundness.sub_interpreters import REFERENCE, USE


class LargerFloat(float):
    __slots__ = ("more",)


UNKNOWN = {
    "version": (sys, "version_info", (3, 16, 0, "final", 0)),
    "float": (builtins, "float", LargerFloat),
    "member_descriptor": (types, "MemberDescriptorType", types.FunctionType),
}


def use(name: str) -> str:
    """Use the package in an interpreter that differs in one respect."""
    module, attribute, replacement = UNKNOWN[name]
    setattr(module, attribute, replacement)
    namespace: dict[str, Any] = {}
    exec(USE + REFERENCE, namespace)
    assert gc.is_tracked(namespace["message"]), "the class was adopted"
    return str(namespace["warning"].message)
