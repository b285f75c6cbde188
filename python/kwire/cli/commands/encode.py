"""``kwire encode``: JSON to bytes; what ``kwire decode`` printed gives the bytes it was printed for.

Rules of this file: as hex, a document is a line, and one that cannot be encoded is an empty line, so that lines stay
those of the input; binary output has no such place, and ends at the first document that is wrong.
"""

from __future__ import annotations

import sys
from struct import pack
from typing import TYPE_CHECKING, Any

import click

from kwire.cli.colors import paint_for
from kwire.cli.options import chosen_message, which_message, whole_frames
from kwire.cli.program import EXIT_WRONG_INPUT
from kwire.cli.records import Intended, encoded, error_record, json_text
from kwire.cli.sources import BadInput, open_source, read_documents
from kwire.errors import KwireError

if TYPE_CHECKING:
    from kwire.cli.frames import FrameKind
    from kwire.cli.records import Encoded
    from kwire.cli.sources import Documents


@click.command()
@which_message
@whole_frames
@click.option("--correlation-id", type=int, default=0, show_default=True, help="Of the header of a bare document.")
@click.option("--client-id", metavar="ID", help="Of the header of a bare request; none when not given.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["hex", "binary", "json"]),
    default="hex",
    show_default=True,
    help="JSON says what the bytes are, as `kwire decode` reads it.",
)
@click.argument("words", metavar="[INPUT]...", nargs=-1)
def encode(
    words: tuple[str, ...],
    message: str | None,
    version: int | None,
    dialect: str,
    kind: FrameKind | None,
    sized: bool,
    correlation_id: int,
    client_id: str | None,
    output: str,
) -> int:
    """JSON to bytes.

    A document is a message in Kafka's own JSON form, for which --message and --version say what it is, or a frame as
    `kwire decode` prints it: an object with message, version and body, and perhaps kind and header. Many documents are
    lines or a list. With --request or --response a bare message gets a header.

    \b
    Examples:
      kwire encode -m MetadataRequest -v 1 '{"topics": [{"name": "orders"}]}'
      kwire encode --request -m Metadata -v 1 --sized -o binary '{"topics": null}' | nc broker 9092
      kwire decode capture.jsonl | kwire encode -o json
    """  # noqa: D301  # \b is click's mark
    cls, version = chosen_message(message, dialect, version, kind)
    intended = Intended(dialect, kind, cls, version, correlation_id, client_id)
    documents = read_documents(open_source(words))
    if output == "binary":
        return _write_binary(documents, intended, sized=sized)
    return _write_text(documents, intended, output, sized=sized)


def _write_binary(documents: Documents, intended: Intended, *, sized: bool) -> int:
    for number, document in documents.items:
        done = _outcome(document, intended)
        if isinstance(done, KwireError):
            return _complain(done, documents, number)
        sys.stdout.buffer.write(_framed(done.data, sized=sized))
    sys.stdout.buffer.flush()
    return 0


def _write_text(documents: Documents, intended: Intended, output: str, *, sized: bool) -> int:
    code = 0
    is_list = documents.shape == "list"
    texts = []
    for number, document in documents.items:
        done = _outcome(document, intended)
        if isinstance(done, KwireError):
            code = _complain(done, documents, number)
        text = _text(done, output, {"index" if is_list else "line": number}, sized=sized)
        if is_list:
            texts.append(text)
        elif text or documents.shape == "lines":
            print(text, flush=True)
    if is_list:
        print(
            "[" + "".join(f"{',' * (place > 0)}\n{text}" for place, text in enumerate(texts)) + "\n" * bool(texts) + "]"
        )
    return code


def _text(done: Encoded | KwireError, output: str, where: dict[str, int], *, sized: bool) -> str:
    if output == "json":
        return json_text({**where, **({"error": error_record(done)} if isinstance(done, KwireError) else done.record)})
    text = "" if isinstance(done, KwireError) else _framed(done.data, sized=sized).hex()
    return json_text(text) if "index" in where else text


def _outcome(document: Any, intended: Intended) -> Encoded | KwireError:
    if isinstance(document, BadInput):
        return document
    try:
        return encoded(document, intended)
    except KwireError as error:
        return error


def _framed(data: bytes, *, sized: bool) -> bytes:
    return pack(">i", len(data)) + data if sized else data


def _complain(error: KwireError, documents: Documents, number: int) -> int:
    sys.stdout.flush()
    where = {"one": "", "lines": f"line {number}: ", "list": f"index {number}: "}[documents.shape]
    print(f"{paint_for(sys.stderr)('fault', 'Error')}: {where}{error}", file=sys.stderr)
    return EXIT_WRONG_INPUT
