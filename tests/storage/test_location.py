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


@pytest.mark.parametrize("scheme", ["s3", "S3A", "abfss", "gs"])
@pytest.mark.parametrize("rest", ["", "/", "//", "///", "bucket", "/bucket", "/bucket/folder", "///folder"])
def test_uri_without_a_bucket_is_refused(scheme: str, rest: str) -> None:
    with pytest.raises(UnsupportedLocation, match=f"expected {scheme}://BUCKET/FOLDER"):
        Location.parse(f"{scheme}:{rest}")


def test_hdfs_has_a_default_name_node() -> None:
    assert Location.parse("hdfs:///data").native == "hdfs:///data"
