"""Declarations of messages: small typed classes, the only description of a message.

    class Broker(Struct):
        \"\"\"A broker that clients can connect to.\"\"\"
        node_id: int32
        host: string
        port: int32
        rack: nullable[string] = field(since=1, default=None, ignorable=True)
        \"\"\"The rack of the broker; None if not configured.\"\"\"

Array fields are tuples. Constructors also convert lists, which type checkers reject.
"""

from __future__ import annotations

from kwire.declare.unknown_tags import UnknownTags
from kwire.declare.versions import VersionRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.declare._typing import (
        Message,
        Request,
        Struct,
        array,
        field,
        float64,
        int8,
        int16,
        int32,
        int64,
        maybe,
        nullable,
        string,
        uint16,
        uint32,
        uuid,
        zero,
    )
else:
    from kwire.declare.fields import field, zero
    from kwire.declare.struct import Message, Request, Struct
    from kwire.declare.wire_types import (
        array,
        float64,
        int8,
        int16,
        int32,
        int64,
        maybe,
        nullable,
        string,
        uint16,
        uint32,
        uuid,
    )

__all__ = [
    "Message",
    "Request",
    "Struct",
    "UnknownTags",
    "VersionRange",
    "array",
    "field",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "maybe",
    "nullable",
    "string",
    "uint16",
    "uint32",
    "uuid",
    "zero",
]
