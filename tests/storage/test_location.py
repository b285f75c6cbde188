"""Spellings of folders: a spelling that opens another folder is refused."""

from __future__ import annotations

import pytest

from kwire.storage.location import Location, UnsupportedLocation


@pytest.mark.parametrize(
    "name",
    ["with space", "plus+plus", "a=b", "brackets[1]", "tilde~", "colon:x", "quote'x", "star*", "amp&b", "日本語"],
)
def test_names_that_all_readers_take_for_the_same_are_kept(name: str) -> None:
    assert Location.parse(f"s3://bucket/{name}/").native == f"s3://bucket/{name}"
    assert Location.parse(f"s3a://bucket/{name}").spark == f"s3a://bucket/{name}"


@pytest.mark.parametrize("scheme", ["s3", "s3a", "hdfs", "abfss", "gs"])
@pytest.mark.parametrize(
    "name", ["hash#tag", "what?", "what?x=1", "perc%25", "perc%", "back\\slash", "new\nline", "a//b", "a/./b", "a/../b"]
)
def test_names_that_a_url_takes_for_others_are_refused(scheme: str, name: str) -> None:
    for any_name in (False, True):
        with pytest.raises(UnsupportedLocation, match="a folder in a URI"):
            Location.parse(f"{scheme}://bucket/{name}", any_name=any_name)


def test_backslash_in_a_folder_of_tables_is_refused() -> None:
    with pytest.raises(UnsupportedLocation, match="delta-rs takes the backslash"):
        Location.parse("/data/back\\slash")
    assert Location.parse("/data/back\\slash", any_name=True).native == "/data/back\\slash"


@pytest.mark.parametrize("code", [*range(1, 0x20), 0x7F])
def test_control_character_in_a_folder_of_tables_is_refused(code: int) -> None:
    name = f"/data/a{chr(code)}b"
    for given in (name, f"file://{name}"):
        with pytest.raises(UnsupportedLocation, match=r"delta-rs cannot open a folder with .* rename the folder"):
            Location.parse(given)
    assert Location.parse(name, any_name=True).native == name


@pytest.mark.parametrize("name", ["a\0b", "a\udc80b"])
def test_name_that_is_not_utf_8_is_refused(name: str) -> None:
    for any_name in (False, True):
        for given in (f"/data/{name}", f"s3://bucket/{name}", f"dbfs:/{name}"):
            with pytest.raises(UnsupportedLocation, match="which Arrow cannot open"):
                Location.parse(given, any_name=any_name)


@pytest.mark.parametrize("scheme", ["s3", "S3A", "abfss", "gs"])
@pytest.mark.parametrize("rest", ["", "/", "//", "///", "bucket", "/bucket", "/bucket/folder", "///folder"])
def test_uri_without_a_bucket_is_refused(scheme: str, rest: str) -> None:
    with pytest.raises(UnsupportedLocation, match=f"expected {scheme}://BUCKET/FOLDER"):
        Location.parse(f"{scheme}:{rest}")


def test_hdfs_has_a_default_name_node() -> None:
    assert Location.parse("hdfs:///data").native == "hdfs:///data"
