"""A hook of Schemathesis: valid values of the parameters that JSON Schema cannot describe.

Schemathesis imports this module. Every other value is as Schemathesis generates it from the OpenAPI document. Requests
that must be refused stay as they are.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Any
from uuid import uuid4

__all__ = ["before_call"]

PLAN = json.dumps({"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1]}]})
CLUSTER = json.dumps({"kwire": 1, "topics": {}})
SNAPSHOT = json.dumps({"format": "kwire-cluster-snapshot", "version": 1, "brokers": [], "partitions": []})
DOCUMENTS = {
    ("/api/v1/acls/apply", "file"): "[]",
    ("/api/v1/configs/apply", "file"): CLUSTER,
    ("/api/v1/configs/apply", "if_unchanged"): CLUSTER,
    ("/api/v1/configs/diff", "file"): CLUSTER,
    ("/api/v1/configs/set", "from_file"): "retention.ms=1000\n",
    ("/api/v1/groups/reset-offsets", "from_file"): "orders,0,0\n",
    ("/api/v1/reassign-partitions/execute", "file"): PLAN,
    ("/api/v1/reassign-partitions/plan", "snapshot"): SNAPSHOT,
    ("/api/v1/reassign-partitions/simulate", "file"): PLAN,
    ("/api/v1/reassign-partitions/simulate", "snapshot"): SNAPSHOT,
    ("/api/v1/reassign-partitions/verify", "file"): PLAN,
}
"""Texts of files by path and parameter: JSON Schema describes no syntax of a text that is JSON, YAML, or CSV itself."""
KEYS = {
    ("/api/v1/configs/set", "values"),
    ("/api/v1/configs/set", "append"),
    ("/api/v1/configs/set", "subtract"),
    ("/api/v1/features/downgrade", "features"),
    ("/api/v1/features/upgrade", "downgrade"),
    ("/api/v1/features/upgrade", "features"),
    ("/api/v1/quotas/set", "quotas"),
    ("/api/v1/topics/alter", "config"),
    ("/api/v1/topics/create", "config"),
}
"""Lists of KEY=VALUE by path and parameter: in JSON Schema, `uniqueItems` compares whole texts, not keys."""
VALUES: dict[tuple[str, str], Any] = {
    ("/api/v1/acls/add", "operation"): ["ALL"],
    ("/api/v1/users/set", "iterations"): 4096,
}
"""Values by path and parameter whose validity depends on other parts of a request or on the cluster: `ALL` is an
operation of each type of resource, and brokers of Kafka accept fewer iterations than nodes."""

ZOOKEEPER = "ZOOKEEPER"
"""The variable with the servers that a request of the tools of ZooKeeper must name to be answered."""


def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Make a request valid if it is valid for the document."""
    del context, kwargs
    if not case.meta.generation.mode.is_positive:
        return
    if "Idempotency-Key" in case.headers:  # a used key in another request is an error
        case.headers["Idempotency-Key"] = str(uuid4())
    if ZOOKEEPER in os.environ and case.query and "zookeeper" in case.query:
        case.query["zookeeper"] = os.environ[ZOOKEEPER]
    if isinstance(case.body, dict):
        case.body = _valid_body(case.operation.path, case.body)


def _valid_body(path: str, body: dict[str, Any]) -> dict[str, Any]:
    taken: set[str] = set()  # across parameters: a feature cannot be raised and lowered
    valid = dict(body)
    for name, value in body.items():
        if (path, name) in DOCUMENTS and value is not None:
            valid[name] = DOCUMENTS[path, name]
        elif (path, name) in KEYS:
            valid[name] = [text if _is_new(text, taken) else f"key-{index}=1" for index, text in enumerate(value)]
        elif (path, name) in VALUES:
            valid[name] = VALUES[path, name]
    return valid


def _is_new(text: str, taken: set[str]) -> bool:
    """Return whether a text has a key that no text before it has."""
    key = text.partition("=")[0]
    is_new = key not in taken
    taken.add(key)
    return is_new


# The test installs Schemathesis into a folder of its own, so type checkers cannot import it.
import_module("schemathesis").hook(before_call)
