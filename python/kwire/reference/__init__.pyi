# Written by `python -m scripts.stubs`.

from kwire.reference.decoder import decode as decode
from kwire.reference.decoder import validate as validate
from kwire.reference.encoder import encode as encode
from kwire.reference.value_spans import Span as Span
from kwire.reference.value_spans import spans as spans
