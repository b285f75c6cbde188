"""The permission that a refused request lacks is named for every request of the admin client."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import kwire.client.admin
from kwire.client.admin.permissions import RESOURCES, missing_permission

SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in Path(kwire.client.admin.__file__).parent.glob("*.py"))
APIS = sorted(set(re.findall(r"from kwire\.messages\.kafka\.(\w+) import [^\n]*(?:\(|\w+Request\b)", SOURCE)))


@pytest.mark.parametrize("api", APIS)
def test_documented_refusals_name_the_permission(api: str) -> None:
    text = Path(import_module(f"kwire.messages.kafka.{api}").__file__ or "").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"\b(29|30|31|53) not authorized", text)}
    unnamed = sorted(code for code in documented if missing_permission(api, code) is None)
    assert unnamed == [], [RESOURCES[code] for code in unnamed]
