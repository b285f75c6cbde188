"""The runner of verbs: checks before they run, and suggestions for unknown names.

`run_verb` raises the errors of a verb, because its callers, the command, the shell, and HTTP, show them in different
ways. Tools have a runner of their own (`kwire_zookeeper_tools.tool_runner`).
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.admin.errors import NotSupported
from kwire_admin.operations.argument_checks import check_arguments
from kwire_admin.operations.suggestions import with_suggestions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.protocol.negotiated_versions import Dialect
    from kwire_admin.operations.declaration import Operation
    from kwire_admin.operations.run import Run

CLUSTERS: dict[Dialect, str] = {"kafka": "a cluster of Apache Kafka", "kip4": "a cluster of nodes of the KIP-4 drafts"}
"""Kinds of clusters by dialect."""


async def run_verb(verb: Operation, run: Run, values: Mapping[str, Any]) -> list[Any]:
    """Run a verb, and return its rows and failures.

    The first errors because of unknown names have the most similar names that exist.

    Args:
        values: the values of its parameters by name.

    Raises:
        NotSupported: clusters of this kind do not have the verb.
        InvalidArgument: see `check_arguments`.
        KwireError, InvalidArgument, Unhealthy: see the verb.
    """
    check_arguments(verb.parameters, verb.choices, values)
    if not run.has_cluster:
        return await verb(run, **values)
    dialect = run.admin.dialect
    if dialect not in verb.dialects:
        kind = CLUSTERS[verb.dialects[0]]
        raise NotSupported(f"kafka {verb.noun} {verb.name}", f"it works on {kind}, and this is {CLUSTERS[dialect]}")
    return await with_suggestions(run.admin, verb(run, **values))
