"""Parts of other products: broken entry points, other versions, and products that are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kwire import __version__
from kwire._util import products
from kwire._util.products import (
    PRODUCTS,
    BrokenProduct,
    MissingProduct,
    check_versions,
    missing_admin_hint,
    missing_hint,
    part,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_products_of_different_versions_do_not_work_together() -> None:
    check_versions("kwire-admin", __version__)

    with pytest.raises(BrokenProduct) as raised:
        check_versions("kwire-admin", "0.0.9")

    fix = f"pip install 'kwire-admin=={__version__}' 'kwire=={__version__}'"
    assert str(raised.value) == f"kwire-admin 0.0.9 does not fit kwire {__version__}: {fix}"


def test_missing_product_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "entry_points", lambda _: ())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(MissingProduct, match=r"^--gold needs kwire-pipeline: pip install 'kwire.spark.'$"):
        part("incidents", "--gold")
    for product, (extra, commands) in PRODUCTS.items():
        for command in commands or ("topics",):
            hint = missing_hint(command) if commands else missing_admin_hint()
            assert hint is not None
            assert hint.endswith(f"{product}: pip install 'kwire[{extra}]'")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment with a package whose command `boom` cannot be imported."""
    package = tmp_path / "broken_commands"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "boom.py").write_text("raise ValueError('no luck')\n")
    metadata = tmp_path / "broken-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[kwire.commands]\nbroken = broken_commands\n")
    return os.environ | {"PYTHONPATH": str(tmp_path)}


def test_broken_entry_point_breaks_its_own_command_only(environment: dict[str, str]) -> None:
    def kwire(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kwire", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    problem = "the command boom of broken cannot be used: ValueError: no luck"
    assert "boom" in kwire("--help").stdout
    assert kwire("messages").returncode == 0
    broken = kwire("boom")
    assert (broken.returncode, broken.stderr) == (1, f"Error: {problem}\n")
    explained = kwire("boom", "--debug").stderr
    assert explained.startswith("Traceback")
    assert 'boom.py", line 1' in explained
    assert explained.endswith(f"Error: {problem}\n")
