"""`kafka configs apply`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kwire._util.light_typing import Annotated
from kwire._util.readable import counted
from kwire_admin.operations.cluster_document.application import DocumentChange, DocumentPlan, plan
from kwire_admin.operations.cluster_document.application import apply as apply_plan
from kwire_admin.operations.cluster_document.differences import DocumentAction
from kwire_admin.operations.declaration import Rows, Unhealthy, operation
from kwire_admin.operations.parameters import Argument, Danger, Option
from kwire_admin.operations.run import Run

FILE_HELP = "A document of `configs export`, changed."
OTHER_CLUSTER_HELP = "Accept the document of another cluster."
SKIP_REFUSED_HELP = "Warn of what the cluster refuses or does not have, and leave it out."


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
    file: Annotated[Path, Argument(FILE_HELP, "FILE", document=True)],
    if_unchanged: Annotated[
        Path | None,
        Option("Refuse to change what is no longer as in this earlier document.", "FILE", document=True),
    ] = None,
    prune: Annotated[
        bool, Option("Delete configs, quotas, and ACLs that the document does not name; topics and users are kept.")
    ] = False,
    other_cluster: Annotated[bool, Option(OTHER_CLUSTER_HELP)] = False,
    skip_refused: Annotated[bool, Option(SKIP_REFUSED_HELP)] = False,
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
