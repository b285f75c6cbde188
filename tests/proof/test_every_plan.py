"""Every message compiles in every version, which finds mistakes in declarations."""

from __future__ import annotations

import kwire
from kwire import codec, messages
from kwire.reference.layout import layout_of
from tests.for_rows import for_rows


@for_rows("cls", messages.every(), ids=lambda cls: f"{cls.__module__.split('.')[2]} {cls.__name__}")
def test_every_version_has_a_plan_and_a_layout(cls: type[kwire.declare.Message]) -> None:
    for version in cls.versions:
        text = kwire.plan(cls, version=version)
        assert text.startswith(f"{cls.__name__} v{version} ")
        assert codec._compile(cls, version) is cls.__kwire_plans__[version]
        assert layout_of(cls, version).version == version
