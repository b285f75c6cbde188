"""`kafka configs export`."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire_admin.operations.cluster_document.document import write
from kwire_admin.operations.cluster_document.state import Section, read_state
from kwire_admin.operations.cluster_health.checks import unless_no_quorum
from kwire_admin.operations.declaration import Rows, operation
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run

EVERYWHERE = (Section.BROKERS, Section.TOPICS)
"""Sections that every cluster has something for. If they are missing, the document is incomplete; other sections are
missing where there is nothing to export, such as ACLs on a cluster without an authorizer."""


@dataclass(frozen=True, slots=True)
class ExportedCluster:
    """A cluster as a document.

    Attributes:
        cluster: the id of the cluster; None if it has none.
        document: the document, in YAML or JSON.
    """

    cluster: str | None
    document: str = field(metadata=column(unit="text"))


@operation(
    examples=(
        "configs export > cluster.yaml",
        "configs export --json > cluster.json",
        "configs export --only topics --only acls > topics.yaml",
    ),
)
async def export(
    run: Run,
    only: Annotated[list[Section], Option("Only this section.", "SECTION")] = [],
    json: Annotated[bool, Option("Write JSON in place of YAML.")] = False,
) -> Rows[ExportedCluster]:
    """Export configs, topics, quotas, ACLs, and the names of users as one document, for `configs apply`.

    Secrets are not exported, only their names.
    """
    state, unsupported, is_partial = await unless_no_quorum(
        run.admin, lambda: read_state(run.admin, frozenset(only or Section))
    )
    if is_partial:
        verb = "is" if len(state.topics) == 1 else "are"
        run.warn(
            f"only the {counted(len(state.topics), 'topic')} that this user may describe {verb} "
            "in the document; there can be others."
        )
    for section, reason in unsupported.items():
        if section in only or section in EVERYWHERE:
            run.warn(f"{section} are left out: {reason}.")
    return [ExportedCluster(state.cluster_id, write(state, as_json=json))]
