"""Mistakes that strict mypy and pyright must find.

The comment on a line names the rules that mypy reports, then the rules of pyright; tests/lint/test_typing.py compares.
"""

from __future__ import annotations

import kwire
from kwire.declare import Message, Request, Struct, array, field, int32, maybe, nullable, string
from kwire.messages import kafka, kip4
from kwire.messages.kafka import MetadataRequest, MetadataRespons  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownVariableType, reportUnusedImport
from kwire.messages.kafka.metadata import MetadataResponseBroker


class Brewer(Struct):
    node_id: int32
    host: string
    rack: nullable[string] = field(since=1, default=None)


class BrewRequest(Request["BrewResponse"], api_key=900, versions="0-3", flexible="2+"):
    topics: array[string] = ()
    timeout_ms: int32 = 60_000


class BrewResponse(Message, api_key=900, versions="0-3", flexible="2+"):
    brewers: array[Brewer]
    controller: maybe[Brewer] = None


# Declarations.
class KeyIsText(Message, api_key="900", versions="0"):  # mypy arg-type; pyright reportArgumentType, reportGeneralTypeIssues
    node_id: int32


class VersionsAreANumber(Message, api_key=900, versions=0):  # mypy arg-type; pyright reportArgumentType, reportGeneralTypeIssues
    node_id: int32


class NoSuchKeyword(Message, api_key=900, versions="0", flexibel="0+"):  # mypy call-arg; pyright reportCallIssue, reportGeneralTypeIssues
    node_id: int32


class PartWithKey(Struct, api_key=900, versions="0"):  # mypy call-arg; pyright reportCallIssue, reportGeneralTypeIssues
    node_id: int32


class DefaultOfAnotherType(Struct):
    node_id: int32 = "none"  # mypy assignment; pyright reportAssignmentType


class NullWhereNoneIsAllowed(Struct):
    host: string = None  # mypy assignment; pyright reportAssignmentType


class NoSuchOption(Struct):
    host: string = field(from_version=1, default="")  # mypy call-arg; pyright reportCallIssue, reportUnknownVariableType


class OptionsByPosition(Struct):
    host: string = field(1, default="")  # mypy misc; pyright reportCallIssue, reportUnknownVariableType


class SinceIsText(Struct):
    host: string = field(since="1", default="")  # mypy arg-type; pyright reportArgumentType


class UnknownType(Struct):
    node_id: int33  # mypy name-defined; pyright reportUndefinedVariable


# Constructors.
Brewer(node_id=1)  # mypy call-arg; pyright reportCallIssue
Brewer(1, "a")  # mypy arg-type, call-arg; pyright reportCallIssue
Brewer(node_id="1", host="a")  # mypy arg-type; pyright reportArgumentType
Brewer(node_id=1, host=None)  # mypy arg-type; pyright reportArgumentType
Brewer(node_id=1, host="a", shelf="b")  # mypy call-arg; pyright reportCallIssue
Brewer(node_id=1, host="a", unknown_tags={"seven": b""})  # mypy dict-item; pyright reportArgumentType
BrewRequest(topics="not an array of strings")  # mypy arg-type; pyright reportArgumentType
BrewResponse(brewers=(1, 2))  # mypy arg-type; pyright reportArgumentType
BrewResponse(brewers=[Brewer(node_id=1, host="a")])  # mypy arg-type; pyright reportArgumentType
MetadataResponseBroker(node_id=1, host="a", port="9092")  # mypy arg-type; pyright reportArgumentType

# Attributes.
brewer = Brewer(node_id=1, host="a")
response = BrewResponse(brewers=(brewer,))
brewer.node_id = 2  # mypy misc; pyright reportAttributeAccessIssue
brewer.shelf = 2  # mypy attr-defined; pyright reportAttributeAccessIssue
del brewer.host  # pyright reportAttributeAccessIssue
print(brewer.shelf)  # mypy attr-defined; pyright reportAttributeAccessIssue
response.brewers.append(brewer)  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownMemberType
response.brewers[0].node_id = 3  # mypy misc; pyright reportAttributeAccessIssue
print(response.controller.host)  # mypy union-attr; pyright reportOptionalMemberAccess
brewer.rack.upper()  # mypy union-attr; pyright reportOptionalMemberAccess
length: int = brewer.host  # mypy assignment; pyright reportAssignmentType
BrewRequest.versions = "0-9"  # mypy assignment; pyright reportAttributeAccessIssue

match brewer:
    case Brewer(shelf=1):  # mypy misc
        pass
    case _:
        pass

# Encoding and decoding.
kwire.decode(BrewResponse, b"")  # mypy call-arg; pyright reportCallIssue
kwire.decode(BrewResponse, b"", 3)  # mypy call-arg; pyright reportCallIssue
kwire.decode(BrewResponse, "text", version=3)  # mypy arg-type; pyright reportArgumentType
kwire.view(BrewResponse, b"", version=3).brewer  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownMemberType
kwire.view(BrewResponse, b"", version=3).decode()  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownMemberType
kwire.view(BrewResponse, "text", version=3)  # mypy arg-type; pyright reportArgumentType
kwire.find(BrewResponse, host="a")  # mypy arg-type; pyright reportArgumentType
kwire.decode("BrewResponse", b"", version=3)  # mypy arg-type; pyright reportArgumentType
kwire.encode(response)  # mypy call-arg; pyright reportCallIssue
kwire.encode(b"", version=3)  # mypy arg-type; pyright reportArgumentType
kwire.encode(MetadataRequest(topic=()), version=12)  # mypy call-arg; pyright reportCallIssue
kwire.encode(kafka.MetadataRequest(topics="all"), version=12)  # mypy arg-type; pyright reportArgumentType
kwire.decode(kafka.MetadataResponse, b"", version=12).topic  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownMemberType
kip4.ListTopics  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownMemberType
kwire.full_repr(b"")  # mypy arg-type; pyright reportArgumentType
request: BrewRequest = kwire.decode(BrewResponse, b"", version=3)  # mypy assignment; pyright reportAssignmentType
nothing = kwire.validate(BrewResponse, b"", version=3).brewers  # mypy attr-defined, func-returns-value; pyright reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType
kwire.to_json(response, version="3")  # mypy arg-type; pyright reportArgumentType
kwire.from_json(BrewRequest, {}, version=3).brewers  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownMemberType
kwire.plan(brewer, version=3)  # mypy arg-type; pyright reportArgumentType
kwire.reference.decode(BrewResponse, [0], version=3)  # mypy arg-type; pyright reportArgumentType
kwire.decodee(BrewResponse, b"", version=3)  # mypy attr-defined; pyright reportAttributeAccessIssue, reportUnknownMemberType
