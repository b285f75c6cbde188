# Written by `python -m scripts.stubs`.

from kwire import declare as declare
from kwire import errors as errors
from kwire import frame as frame
from kwire import messages as messages
from kwire import records as records
from kwire import reference as reference
from kwire.codec import decode as decode
from kwire.codec import encode as encode
from kwire.codec import plan as plan
from kwire.codec import validate as validate
from kwire.columnar import columns as columns
from kwire.columnar import columns_schema as columns_schema
from kwire.declare.representation import full_repr as full_repr
from kwire.decoder import Decoder as Decoder
from kwire.errors import DeclarationError as DeclarationError
from kwire.errors import DecodeError as DecodeError
from kwire.errors import EncodeError as EncodeError
from kwire.errors import KwireError as KwireError
from kwire.errors import UnsupportedVersion as UnsupportedVersion
from kwire.jsonform import from_json as from_json
from kwire.jsonform import to_json as to_json
from kwire.partitioner import murmur2 as murmur2
from kwire.partitioner import partition_for_key as partition_for_key
from kwire.uuids import uuid_from_text as uuid_from_text
from kwire.uuids import uuid_to_text as uuid_to_text
from kwire.versioned import Versioned as Versioned
from kwire.versioned import decode_versioned as decode_versioned
from kwire.versioned import encode_versioned as encode_versioned
from kwire.views import View as View
from kwire.views import find as find
from kwire.views import view as view

__version__: str
