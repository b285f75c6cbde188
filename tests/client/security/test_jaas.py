"""The value of `sasl.jaas.config`."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire._util.secret import Secret
from kwire.client.security.jaas import InvalidJaasConfig, parse_jaas

PASSWORD = "open-sesame"


def options_of(text: str) -> dict[str, str]:
    return {name: value.reveal() for name, value in parse_jaas(Secret(text)).options.items()}


def test_module_and_options() -> None:
    entry = parse_jaas(Secret('org.example.ScramLoginModule required username="alice" password="wonder land";'))

    assert entry.module == "org.example.ScramLoginModule"
    assert entry.module_name == "ScramLoginModule"
    assert {name: value.reveal() for name, value in entry.options.items()} == {
        "username": "alice",
        "password": "wonder land",
    }


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("M required;", {}),
        ("M REQUIRED ;", {}),
        ("M optional a=b;", {"a": "b"}),
        ("M sufficient a = 'single \"quoted\"' ;", {"a": 'single "quoted"'}),
        (r'M required a="say \"hi\"\\ \t\101";', {"a": 'say "hi"\\ \tA'}),
        ("M requisite\n  a=1 // comment\n  b=true /* and\n more */ ;", {"a": "1", "b": "true"}),
        (
            'M required keyTab="/etc/a b.keytab" principal="alice@EXAMPLE.COM";',
            {"keyTab": "/etc/a b.keytab", "principal": "alice@EXAMPLE.COM"},
        ),
        ('M required a="";', {"a": ""}),
        ('M required a="1" a="2";', {"a": "2"}),
    ],
    ids=str,
)
def test_grammar(text: str, options: dict[str, str]) -> None:
    assert options_of(text) == options


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected `LoginModule required"),
        ("M", "expected `LoginModule required"),
        ("M = required;", "expected `LoginModule required"),
        (f"M password={PASSWORD};", "expected required, requisite, sufficient, or optional after the login module"),
        (f'M required password="{PASSWORD}"', "does not end with a semicolon"),
        (f'M required password "{PASSWORD}";', 'expected ="value" after the option at character 11'),
        ("M required password=;", 'expected ="value" after the option at character 11'),
        ("M required =;", "expected the name of an option at character 11"),
        (f'M required password="{PASSWORD};', "unterminated string at character 20"),
        (f'M required password="{PASSWORD}\n";', "unterminated string at character 20"),
        (f"M required password=open%{PASSWORD};", "unexpected character or unterminated string at character 24"),
        (f'M required password="{PASSWORD}"; N required;', "expected exactly one login module"),
    ],
    ids=str,
)
def test_mistake_is_explained_without_values(text: str, reason: str) -> None:
    with pytest.raises(InvalidJaasConfig) as caught:
        parse_jaas(Secret(text))

    assert reason in str(caught.value)
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    frames = [frame for frame in shown.stack if "kwire" in frame.filename and "test_jaas" not in frame.filename]
    assert frames
    assert PASSWORD not in f"{caught.value} {[frame.locals for frame in frames]}"


@given(st.dictionaries(st.from_regex(r"[A-Za-z][A-Za-z0-9_.]*", fullmatch=True), st.text(), max_size=5))
def test_every_quoted_value_is_read_back(options: dict[str, str]) -> None:
    def quote(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    text = "M required " + " ".join(f'{name}="{quote(value)}"' for name, value in options.items()) + ";"

    assert options_of(text) == options
