"""Rules for the Rust sources that the compiler does not check across crates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RUST = Path(__file__).parent.parent / "rust"
PURE = ("kwire", "kwire-columns", "kwire-response-cache")


def test_no_static_is_mutable() -> None:
    """A `static mut` needs the GIL as its lock (docs/design/free-threading.md)."""
    sources = {path: path.read_text() for path in RUST.rglob("*.rs")}

    assert sources
    assert not [path for path, text in sources.items() if re.search(r"\bstatic\s+mut\b", text)]


def test_statics_that_need_the_gil_belong_to_adopted_classes() -> None:
    """Builds without a GIL adopt no class, so they do not use these statics (docs/design/free-threading.md)."""
    unlocked = {
        path.stem
        for path in RUST.rglob("*.rs")
        for name in re.findall(r"(?m)^\s*(?:pub(?:\(crate\))? )?static \w+: (\w+)", path.read_text())
        if name in set(re.findall(r"unsafe impl Sync for (\w+)", path.read_text()))
    }
    assert unlocked == {"unsafe_slabs", "unsafe_instances"}


@pytest.mark.parametrize("crate", PURE)
def test_pure_crates_forbid_unsafe_code(crate: str) -> None:
    assert "\n#![forbid(unsafe_code)]\n" in (RUST / crate / "src" / "lib.rs").read_text()


def test_unsafe_code_is_in_files_named_so() -> None:
    allowed = {path.stem for path in (RUST / "kwire-py" / "src").glob("*.rs") if path.stem.startswith("unsafe_")}
    modules = (RUST / "kwire-py" / "src" / "lib.rs").read_text()

    assert "\n#![deny(unsafe_code)]\n" in modules
    assert set(re.findall(r"allow\(\s*unsafe_code,[^\]]*\)\]\s*mod (\w+);", modules)) == allowed
