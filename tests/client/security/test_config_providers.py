"""References of client properties to values elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.client.security.client_properties import InvalidReference, resolve_references


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_TEST", "from the environment")

    assert resolve_references("<${env:KWIRE_TEST}>") == "<from the environment>"


def test_file_and_key(tmp_path: Path) -> None:
    (tmp_path / "secrets.properties").write_text("user: alice\npass\\ word = open \\\n  sesame\n")

    file = f"{tmp_path}/secrets.properties"
    assert resolve_references(f"${{file:{file}:user}}/${{file:{file}:pass word}}") == "alice/open sesame"


def test_file_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("open sesame")

    assert resolve_references(f"${{dir:{tmp_path}:password}}") == "open sesame"


@pytest.mark.parametrize("text", ["", "plain", "$HOME", "${HOME}", "${vault:path:key}", "$env:X", "${env:X"])
def test_other_text_stays(text: str) -> None:
    assert resolve_references(text) == text


def test_result_is_not_searched_for_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_TEST", "${env:HOME}")

    assert resolve_references("${env:KWIRE_TEST}") == "${env:HOME}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("${env:KWIRE_NOT_SET}", "the environment variable KWIRE_NOT_SET is not set"),
        ("${file:/does/not/exist:key}", "cannot read /does/not/exist: No such file or directory"),
        ("${file:/dev/null:key}", "/dev/null has no key key"),
        ("${dir:/does/not/exist:key}", "cannot read /does/not/exist/key: No such file or directory"),
        ("${dir:/etc:../etc/passwd}", "'../etc/passwd' is not the name of a file in /etc"),
        ("${dir:/etc:}", "'' is not the name of a file in /etc"),
    ],
)
def test_missing_value_is_named(text: str, reason: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        resolve_references(text)

    assert str(caught.value) == reason
