"""The document of `kafka acls apply`. Runs against clusters are in `dry_runs.py`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import AclBinding, AclOperation, AclPermissionType, PatternType, ResourceType
from kwire_admin.operations.parameters import InvalidArgument
from kwire_admin.operations.rows import json_value
from kwire_admin.operations.verbs.acls import read_acls
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from pathlib import Path

ACL: dict[str, Any] = {
    "resource_type": "TOPIC", "resource_name": "orders", "principal": "User:alice", "operation": "READ"
}  # fmt: skip
BINDING = AclBinding(
    resource_type=ResourceType.TOPIC, resource_name="orders", principal="User:alice", operation=AclOperation.READ
)
DENIED = AclBinding(
    resource_type=ResourceType.GROUP,
    resource_name="audit-",
    pattern_type=PatternType.PREFIXED,
    principal="User:*",
    host="10.0.0.7",
    operation=AclOperation.ALL,
    permission_type=AclPermissionType.DENY,
)


def test_printed_acls_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "acls.json"
    file.write_text(json.dumps([json_value(BINDING), json_value(DENIED)]), encoding="utf-8")
    assert read_acls(file) == [BINDING, DENIED]


def test_left_out_keys_have_the_defaults_of_acls_add_and_repetitions_are_one(tmp_path: Path) -> None:
    file = tmp_path / "acls.json"
    file.write_text(json.dumps([ACL, ACL | {"resource_type": "topic", "host": "*"}]), encoding="utf-8")
    assert read_acls(file) == [BINDING]


@for_rows(
    "document, reason",
    [
        ({"acls": []}, "expected a list of ACLs"),
        (["x"], "ACL 1: expected an object with strings"),
        ([ACL | {"host": None}], "expected an object with strings"),
        ([ACL, ACL | {"hosts": "*"}], "ACL 2: unknown key hosts; the keys are host, operation, "),
        ([{"principal": "User:alice"}], "ACL 1: no operation; the keys are"),
        ([ACL | {"operation": "ANY"}], "operation 'ANY' is not one of ALL, READ"),
        ([ACL | {"pattern_type": "MATCH"}], "pattern_type 'MATCH' is not one of LITERAL, PREFIXED"),
        ([ACL | {"permission_type": "MAYBE"}], "permission_type 'MAYBE' is not one of DENY, ALLOW"),
        ([ACL | {"resource_name": ""}], "resource_name is empty"),
        ([ACL | {"principal": "alice"}], "ACL 1: 'alice' is not a principal"),
        ([ACL | {"operation": "CREATE_TOKENS"}], "an ACL of a topic cannot have the operation CREATE_TOKENS"),
    ],
)
def test_invalid_document_is_refused(tmp_path: Path, document: object, reason: str) -> None:
    file = tmp_path / "acls.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InvalidArgument, match=reason):
        read_acls(file)


@for_rows("content", [b"", b"\xff", b"[" * 100_000, None])
def test_unreadable_document_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "acls.json"
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidArgument, match=r"acls\.json: "):
        read_acls(file)
