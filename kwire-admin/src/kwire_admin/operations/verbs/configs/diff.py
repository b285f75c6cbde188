"""`kafka configs diff`."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_typing import Annotated
from kwire_admin.operations.cluster_document.application import DocumentChange, plan
from kwire_admin.operations.cluster_document.differences import DocumentAction
from kwire_admin.operations.declaration import Rows, Unhealthy, operation
from kwire_admin.operations.parameters import Argument, Option
from kwire_admin.operations.run import Run
from kwire_admin.operations.verbs.configs.apply import FILE_HELP, OTHER_CLUSTER_HELP, SKIP_REFUSED_HELP


@operation(nothing="The cluster is as the document says.", examples=("configs diff cluster.yaml",))
async def diff(
    run: Run,
    file: Annotated[Path, Argument(FILE_HELP, "FILE", document=True)],
    other_cluster: Annotated[bool, Option(OTHER_CLUSTER_HELP)] = False,
    skip_refused: Annotated[bool, Option(SKIP_REFUSED_HELP)] = False,
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
