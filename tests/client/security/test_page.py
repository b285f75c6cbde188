"""The page about secured clusters: its files can be read, and its sentences are those of the errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kwire
from kwire.client.security import ClientProperties, ConnectionConfig
from tests.docs.pages import DOCS, blocks
from tests.real_kafka.certificates import CertificateAuthority

PAGE = (DOCS / "how-to" / "security.md").read_text(encoding="utf-8")
FILES = blocks(DOCS / "how-to" / "security.md", "properties")
STORES = Path(__file__).parents[2] / "data" / "stores"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the page expects in /etc/kafka."""
    (tmp_path / "ca.pem").write_text(CertificateAuthority().certificate)
    (tmp_path / "secrets.properties").write_text("alice=wonderland\nstore=store-password\n")
    (tmp_path / "truststore.jks").write_bytes((STORES / "trust.jks").read_bytes())
    (tmp_path / "keystore.p12").write_bytes((STORES / "client.p12").read_bytes())
    return tmp_path


@pytest.mark.parametrize("text", FILES, ids=lambda text: text.splitlines()[1].partition("=")[2].rpartition("/")[2])
def test_file_is_complete_and_has_no_mistakes(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_API_SECRET", "secret")
    monkeypatch.setenv("OAUTH_CLIENT_SECRET", "secret")
    path = folder / "client.properties"
    path.write_text(text.replace("/etc/kafka/", f"{folder}/"))
    path.chmod(0o600)

    properties = ClientProperties.load(path)

    assert properties.warnings == ()
    assert properties.connection.tls is not None
    assert properties.connection != ConnectionConfig()


def test_page_has_a_file_for_each_mechanism() -> None:
    mechanisms = {match for text in FILES for match in re.findall(r"^sasl\.mechanism=(.+)$", text, re.MULTILINE)}

    assert mechanisms == {"SCRAM-SHA-512", "PLAIN", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"}
    assert len(FILES) == 6


def sources() -> str:
    """Return the text of all modules, with strings that continue on the next line joined."""
    root = Path(kwire.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in root.rglob("*.py"))
    return re.sub(r'"\s*\n\s*f?"', "", text)


def test_sentences_of_the_table_are_those_of_the_errors() -> None:
    table = PAGE.partition("| The error says |")[2].partition("\n\n")[0]
    cells = [row.split(" | ")[0] for row in table.splitlines()[2:]]
    sentences = [sentence for cell in cells for sentence in re.findall(r"`([^`]+)`", cell)]
    text = sources()

    assert len(sentences) >= 12
    for sentence in sentences:
        # Words that the sentences fill in.
        literal = re.escape(sentence)
        for filled in ("10.0.0.7", " of user 'alice' ", "..."):
            literal = literal.replace(re.escape(filled), ".*")
        assert re.search(literal, text), sentence
