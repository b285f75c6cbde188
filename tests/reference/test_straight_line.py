"""The generated functions agree with the functions that check each value."""

from __future__ import annotations

import pytest

import kwire
from kwire.errors import DecodeError
from kwire.messages.kafka import MetadataResponse
from kwire.reference.decoder import Input, Readers
from kwire.reference.encoder import EncoderOutput, Writers
from kwire.reference.generated_code import UNUSUAL
from kwire.reference.layout import layout_of
from kwire.reference.straight_line import Decoding, Encoding
from tests.for_rows import for_rows
from tests.proof.material import message_class, vectors

each_message = for_rows("message", sorted(vectors()))


@each_message
def test_generated_functions_handle_what_kafka_writes(message: str) -> None:
    cls = message_class(message)
    for version in {vector.version for vector in vectors()[message]}:
        layout = layout_of(cls, version)
        readers, writers = Readers(layout), Writers(layout)
        decode = Decoding(layout, readers.tag_section, Input).function()
        encode = Encoding(layout, writers.tag_section, EncoderOutput).function()
        for vector in vectors()[message]:
            if vector.version == version:
                decoded = decode(vector.body)
                assert decoded == readers.message()(Input(vector.body)), vector.name
                output = EncoderOutput()
                writers.message()(output, decoded)
                assert encode(decoded) == vector.body == bytes(output.data), vector.name


def test_generated_function_ends_at_every_invalid_body() -> None:
    layout = layout_of(MetadataResponse, 12)
    decode = Decoding(layout, Readers(layout).tag_section, Input).function()
    body = next(vector.body for vector in vectors()["MetadataResponse"] if vector.version == 12)

    for end in range(len(body)):
        with pytest.raises(UNUSUAL):
            decode(body[:end])
        with pytest.raises(DecodeError):
            kwire.reference.decode(MetadataResponse, body[:end], version=12)
