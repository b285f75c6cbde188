"""`kafka configs export`, `diff`, and `apply`: a cluster as a document."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import Annotated, TypeAlias
from kwire._util.readable import counted
from kwire_admin.operations.cluster_document.application import DocumentChange, DocumentPlan, plan
from kwire_admin.operations.cluster_document.application import apply as apply_plan
from kwire_admin.operations.cluster_document.differences import DocumentAction
from kwire_admin.operations.cluster_document.document import write
from kwire_admin.operations.cluster_document.state import Section, read_state
from kwire_admin.operations.cluster_health.checks import unless_no_quorum
from kwire_admin.operations.declaration import Rows, Unhealthy, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.rows import column
from kwire_admin.operations.run import Run

Document: TypeAlias = Annotated[Path, Argument("A document of `configs export`, changed.", "FILE", document=True)]
OtherCluster: TypeAlias = Annotated[bool, Option("Accept the document of another cluster.")]
SkipRefused: TypeAlias = Annotated[bool, Option("Warn of what the cluster refuses or does not have, and leave it out.")]

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


@operation(nothing="The cluster is as the document says.", examples=("configs diff cluster.yaml",))
async def diff(
    run: Run,
    file: Document,
    other_cluster: OtherCluster = False,
    skip_refused: SkipRefused = False,
    complete: Annotated[
        bool, Option("Fail as well if the cluster has what the document does not name (status `kept`).")
    ] = False,
) -> Rows[DocumentChange]:
    """Show the differences between a document and the cluster. The check fails if there are any.

    What only the cluster has is listed as `kept`. It does not differ, so that a document can describe a part of it.
    """
    planned = await plan(run, file, other_cluster=other_cluster, skip_refused=skip_refused, validate=skip_refused)
    rows: Rows[DocumentChange] = [*planned.rows(would=True)]
    differences = [
        difference for difference in planned.differences if complete or difference.action is not DocumentAction.KEEP
    ]
    if differences:
        raise Unhealthy(rows, f"Settings that differ from {file}: {len(differences)}")
    return rows


@operation(
    Danger.DESTROYS,
    waits=True,
    nothing="The cluster is as the document says.",
    examples=(
        "configs apply cluster.yaml --dry-run",
        "configs apply cluster.yaml --if-unchanged exported.yaml --yes",
        "configs apply prod.yaml --other-cluster --skip-refused --yes",
    ),
)
async def apply(
    run: Run,
    file: Document,
    if_unchanged: Annotated[
        Path | None,
        Option("Refuse to change what is no longer as in this earlier document.", "FILE", document=True),
    ] = None,
    prune: Annotated[
        bool, Option("Delete configs, quotas, and ACLs that the document does not name; topics and users are kept.")
    ] = False,
    other_cluster: OtherCluster = False,
    skip_refused: SkipRefused = False,
) -> Rows[DocumentChange]:
    """Change the cluster to what a document says: configs, topics, quotas, and ACLs.

    The cluster checks the whole plan before anything is changed. Repeating it after an interrupt continues it.
    Sections and resources that the document does not name stay as they are.
    """
    planned = await plan(
        run, file, other_cluster=other_cluster, skip_refused=skip_refused, prune=prune, base=if_unchanged
    )
    rows: Rows[DocumentChange] = [*planned.rows(would=True)]
    if planned.applied and not run.dry_run:
        run.show_plan(rows)
        run.confirm(_question(planned))
        rows = [*await apply_plan(run, planned)]
    manual = [difference for difference in planned.differences if difference.action is DocumentAction.MANUAL]
    if manual:
        raise Unhealthy(rows, f"Settings that remain for a person to change: {len(manual)}")
    return rows


def _question(planned: DocumentPlan) -> str:
    """Return the question, such as `Change 2 settings and delete 1 setting of cluster prod?`."""
    counts = Counter(difference.action for difference in planned.applied)
    kinds = [action for action in DocumentAction if counts[action]]
    parts = [f"{action.name.lower()} {counted(counts[action], 'setting')}" for action in kinds]
    changes = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return f"{changes[0].upper()}{changes[1:]} of cluster {planned.cluster_id}?"
