"""The pictures in docs/pictures show what the commands print. Run `python -m scripts.pictures` if a test fails."""

from __future__ import annotations

from scripts import pictures

MAX_BYTES = 150_000


def test_picture_of_a_hex_dump_is_current() -> None:
    current = pictures.hex_dump_terminal()
    assert (pictures.PICTURES / "decode.svg").read_text(encoding="utf-8") == current
    assert "https://" not in current.replace("http://www.w3.org", "")


def test_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in pictures.PICTURES.iterdir()}
    assert sizes.keys() == {"decode.svg", "http.png", "kafka.svg", "report-dark.png", "report.png"}
    assert {name: size for name, size in sizes.items() if size > MAX_BYTES} == {}
