"""Messages are declared here: small typed classes, the one place where a message is described.

    class Broker(Struct):
        \"\"\"A broker that a client may connect to.\"\"\"
        node_id: int32
        host: string
        port: int32
        rack: nullable[string] = field(since=1, default=None, ignorable=True)
        \"\"\"Where it stands; None when the broker has none configured.\"\"\"

Type checkers see ``_facade`` instead of the real classes: they stop checking class keywords once they see a metaclass.
"""

from __future__ import annotations

from kwire.declare.unknown_tags import UnknownTags
from kwire.declare.versions import VersionRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.declare._facade import (
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
    import kwire.declare.native  # noqa: F401  before the first class is made
    from kwire.declare.field import field, zero
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
