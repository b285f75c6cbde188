"""A secret is never shown by accident."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from kwire._util.secret import Secret

PASSWORD = "correct horse battery staple"


def test_text_is_returned_on_request() -> None:
    assert Secret(PASSWORD).reveal() == PASSWORD


@pytest.mark.parametrize(
    "show",
    [repr, str, "{}".format, "{:>30}".format, "{!r}".format, "%s".__mod__],
    ids=["repr", "str", "format", "aligned", "format of repr", "percent"],  # the same in every process
)
def test_no_conversion_to_text_shows_it(show: Callable[[object], str]) -> None:
    text = show(Secret(PASSWORD))

    assert "[hidden]" in text
    assert PASSWORD not in text


def test_secret_in_a_container_is_masked() -> None:
    assert PASSWORD not in str({"password": [Secret(PASSWORD)]})


def test_secret_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Secret(PASSWORD))


def test_secrets_are_compared_by_text() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert Secret("a") != "a"


def test_empty_secret_is_false() -> None:
    assert not Secret("")
    assert Secret("x")


def test_bytes_are_rejected() -> None:
    with pytest.raises(TypeError, match="a secret is a str, not bytes"):
        Secret(b"x")  # type: ignore[arg-type]  # the mistake under test


def test_copy_of_a_secret_is_the_secret() -> None:
    secret = Secret(PASSWORD)

    assert copy.copy(secret) is secret
    assert copy.deepcopy([secret]) == [secret]
