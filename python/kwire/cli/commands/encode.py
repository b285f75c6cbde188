"""`kwire encode`: encode JSON to bytes; the inverse of `kwire decode`.

Hex output has one line per document and an empty line for an invalid one, so that its lines match those of the input.
Binary output ends at the first invalid document.
"""

from __future__ import annotations

import sys
from functools import partial
from struct import pack

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.cli.entry import EXIT_INVALID_INPUT
from kwire.cli.frame_json import encode_document, error_document, json_text
from kwire.cli.input_sources import InvalidInput, open_source, read_documents
from kwire.cli.message_options import MessageChoice, frame_options, message_options
from kwire.errors import KwireError
from kwire.terminal.colors import paint_for
from kwire.terminal.options import output_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.cli.frame_json import EncodedFrame
    from kwire.cli.frames import FrameKind
    from kwire.cli.input_sources import Documents


@click.command()
@message_options
@frame_options
@click.option("--correlation-id", type=int, default=0, show_default=True, help="Set the correlation id of the header.")
@click.option("--client-id", metavar="ID", help="Set the client id of the header  [default: null]")
@output_option(["hex", "binary", "json"], "Print hex, raw bytes, or JSON that `kwire decode` can read.")
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
    """Encode JSON to bytes.

    INPUT is JSON, the name of a file with JSON (.xz and .gz are decompressed), or - for stdin.

    A document is a message in Kafka's own JSON form, named by --message and --version, or a frame as `kwire decode`
    prints it: an object with message, version, and body, and optionally kind and header. The input is one document,
    one document per line, or a list. With --request or --response, a message without a frame gets a header.

    \b
    Examples:
      kwire encode -m MetadataRequest -v 1 '{"topics": [{"name": "orders"}]}'
      kwire encode --request -m Metadata -v 1 --sized -o binary '{"topics": null}' | nc broker 9092
      kwire decode frames.jsonl | kwire encode -o json
    """
    choice = MessageChoice.of_options(message, dialect, version, kind)
    encode_one = partial(encode_document, choice=choice, correlation_id=correlation_id, client_id=client_id)
    documents = read_documents(open_source(words))
    if output == "binary":
        return _write_binary(documents, encode_one, sized=sized)
    return _write_text(documents, encode_one, output, sized=sized)


def _write_binary(documents: Documents, encode_one: Callable[[Any], EncodedFrame], *, sized: bool) -> int:
    for number, document in documents.items:
        result = _encode(document, encode_one)
        if isinstance(result, KwireError):
            return _print_error(result, documents, number)
        sys.stdout.buffer.write(_with_size(result.data, sized=sized))
    sys.stdout.buffer.flush()
    return 0


def _write_text(documents: Documents, encode_one: Callable[[Any], EncodedFrame], output: str, *, sized: bool) -> int:
    code = 0
    is_list = documents.shape == "list"
    texts = []
    for number, document in documents.items:
        result = _encode(document, encode_one)
        if isinstance(result, KwireError):
            code = _print_error(result, documents, number)
        text = _text(result, output, {"index" if is_list else "line": number}, sized=sized)
        if is_list:
            texts.append(text)
        elif text or documents.shape == "lines":
            print(text, flush=True)
    if is_list:
        print(
            "[" + "".join(f"{',' * (index > 0)}\n{text}" for index, text in enumerate(texts)) + "\n" * bool(texts) + "]"
        )
    return code


def _text(result: EncodedFrame | KwireError, output: str, position: dict[str, int], *, sized: bool) -> str:
    if output == "json":
        outcome = {"error": error_document(result)} if isinstance(result, KwireError) else result.document
        return json_text({**position, **outcome})
    text = "" if isinstance(result, KwireError) else _with_size(result.data, sized=sized).hex()
    return json_text(text) if "index" in position else text


def _encode(document: Any, encode_one: Callable[[Any], EncodedFrame]) -> EncodedFrame | KwireError:
    if isinstance(document, InvalidInput):
        return document
    try:
        return encode_one(document)
    except KwireError as error:
        return error


def _with_size(data: bytes, *, sized: bool) -> bytes:
    return pack(">i", len(data)) + data if sized else data


def _print_error(error: KwireError, documents: Documents, number: int) -> int:
    sys.stdout.flush()
    position = {"one": "", "lines": f"line {number}: ", "list": f"index {number}: "}[documents.shape]
    print(f"{paint_for(sys.stderr)('error', 'Error')}: {position}{error}", file=sys.stderr)
    return EXIT_INVALID_INPUT
