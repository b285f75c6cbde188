# Written by `python -m kwire.messages.stubs`.

from kwire.reference.decoder import decode as decode
from kwire.reference.decoder import validate as validate
from kwire.reference.encoder import encode as encode
from kwire.reference.value_spans import Span as Span
from kwire.reference.value_spans import spans as spans
