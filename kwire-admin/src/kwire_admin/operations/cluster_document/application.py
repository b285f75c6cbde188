"""Plans of documents, and their application step by step.

| moment | what a crash, Ctrl-C, or a lost broker leaves | the way on |
|---|---|---|
| before the first step | nothing is changed | |
| between two steps | the steps so far | the same command: its plan is the rest |
| during a step | its request, made or not, and an entry of the journal without an outcome | the same command |
"""

from __future__ import annotations

from time import monotonic

from kwire._util.concurrency import sleep
from kwire._util.light_dataclasses import dataclass, field
from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted
from kwire.errors import KwireError
from kwire_admin.operations.cluster_document.differences import (
    DocumentAction,
    DocumentDifference,
    changed_since,
    compare,
)
from kwire_admin.operations.cluster_document.document import read
from kwire_admin.operations.cluster_document.state import (
    CONFIG_SECTIONS,
    DocumentState,
    Section,
    read_state,
    with_canonical_configs,
)
from kwire_admin.operations.cluster_document.steps import refusals, steps
from kwire_admin.operations.config_journal import JournaledChange, journaled
from kwire_admin.operations.declaration import Failed, TimedOut
from kwire_admin.operations.parameters import InvalidArgument, check_collisions
from kwire_admin.operations.rows import column

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kwire_admin.operations.cluster_document.steps import Step
    from kwire_admin.operations.run import Run

PAUSE_S = 0.2
"""Seconds between two looks at a cluster that does not report all changes yet. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A setting that differs between a document and the cluster.

    Attributes:
        resource: the owner of the setting, such as `broker/default`, `topic/orders`, `quota/user alice`,
            `acl/topic:orders`, or `user/alice`.
        name: the name of the setting: a config, `partitions`, `replication_factor`, the key of a quota, the mechanism
            of a credential, or principal, operation, and host of an ACL.
        old: its value before; None if it was not set. An ACL has the value ALLOW or DENY, a secret `<secret>`.
        new: its value in the document; None if it has none.
        status: `created`, `changed`, or `deleted`, after `would be` in a dry run; `kept` if it is only in the cluster;
            `manual` if a person must change it; `refused` if the cluster refuses it.
        reason: the reason if it is not applied; otherwise None.
    """

    resource: str
    name: str
    old: str | None
    new: str | None
    status: str
    reason: str | None = field(default=None, metadata=column(if_known=True))


@dataclass(frozen=True, slots=True)
class DocumentPlan:
    """The changes that a document makes.

    Attributes:
        document: the state that the cluster should have.
        cluster_id: the id of the cluster.
        differences: all differences, in the order of their application.
        prune: delete what the document does not name.
    """

    document: DocumentState
    cluster_id: str | None
    differences: Sequence[DocumentDifference]
    prune: bool

    @property
    def applied(self) -> list[DocumentDifference]:
        """The differences that `apply` carries out."""
        return [difference for difference in self.differences if difference.action.is_applied]

    def rows(self, *, would: bool) -> list[DocumentChange]:
        """Return the rows of all differences, as carried out or as planned."""
        return [
            _row(
                difference, f"{'would be ' if would and difference.action.is_applied else ''}{difference.action.value}"
            )
            for difference in self.differences
        ]


async def plan(
    run: Run,
    file: Path,
    *,
    other_cluster: bool,
    skip_refused: bool,
    prune: bool = False,
    base: Path | None = None,
    validate: bool = True,
) -> DocumentPlan:
    """Compare a document with the cluster, and let the cluster check what would be changed.

    Args:
        run: the run of the verb.
        file: the document.
        other_cluster: accept the document of another cluster.
        skip_refused: warn of what the cluster refuses or does not have, and leave it out.
        prune: delete what the document does not name.
        base: an earlier document. Settings that have changed since are an error.
        validate: False to compare only.

    Raises:
        InvalidArgument: the document is invalid, or of another cluster, or has sections that the cluster lacks.
        Failed: settings have changed since `base`, or the cluster refuses some.
    """
    document = read(file)
    earlier = None if base is None else read(base)
    current, unsupported, is_partial = await read_state(run.admin, document.sections)
    if is_partial:
        verb = "is" if len(current.topics) == 1 else "are"
        run.warn(
            f"only the {counted(len(current.topics), 'topic')} that this user can see {verb} "
            "compared; there can be others."
        )
    if document.cluster_id not in (None, current.cluster_id) and not other_cluster:
        raise InvalidArgument(
            f"{file} is of the cluster {document.cluster_id}, and this is {current.cluster_id}: --other-cluster "
            "accepts it"
        )
    for section, reason in unsupported.items():
        if _has(document, section):
            _leave_out(run, file, section, reason, skip_refused=skip_refused)
    check_collisions(sorted(document.topics.keys() - current.topics.keys()), current.topics)
    document = await with_canonical_configs(run.admin, document, current)
    differences = compare(current, document, prune=prune)
    if earlier is not None:
        earlier = await with_canonical_configs(run.admin, earlier, current)
    if earlier is not None and (changed := changed_since(earlier, current, differences)):
        rows = [_row(difference, "changed since", f"not as in {base}") for difference in changed]
        raise Failed(rows, f"Settings that have changed since {base}: {len(changed)}; nothing was changed")
    if validate:
        refused = await refusals(run.admin, differences)
        if refused:
            # The brokers may still execute the last request of an interrupted run, such as the creation of topics.
            current = (await read_state(run.admin, document.sections)).state
            latest = compare(current, document, prune=prune)
            if latest != differences:
                differences, refused = latest, await refusals(run.admin, latest)
        differences = _without_refused(run, differences, refused, skip_refused=skip_refused)
    return DocumentPlan(document, current.cluster_id, differences, prune)


def _leave_out(run: Run, file: Path, section: Section, reason: str, *, skip_refused: bool) -> None:
    """Warn of a section that the cluster does not have, or refuse the document."""
    if not skip_refused:
        raise InvalidArgument(
            f"{file}: the cluster has no {section.replace('_', ' ')} ({reason}): remove the section, or "
            "--skip-refused leaves it out"
        )
    run.warn(f"{section} are left out: {reason}.")


def _without_refused(
    run: Run,
    differences: list[DocumentDifference],
    refused: Mapping[DocumentDifference, str],
    *,
    skip_refused: bool,
) -> list[DocumentDifference]:
    if refused and not skip_refused:
        rows = [_row(difference, "refused", reason) for difference, reason in refused.items()]
        raise Failed(
            rows,
            f"Settings that the cluster refuses: {len(refused)}; nothing was changed (--skip-refused leaves them out)",
        )
    for refusal, reason in refused.items():
        run.warn(f"{refusal} is left out: {reason.rstrip('.')}.")
    return [difference for difference in differences if difference not in refused]


def _has(document: DocumentState, section: Section) -> bool:
    """Return whether a document has anything in a section."""
    match section:
        case Section.QUOTAS:
            return bool(document.quotas)
        case Section.USERS:
            return bool(document.users)
        case Section.ACLS:
            return bool(document.acls)
    type = CONFIG_SECTIONS[section]
    return any(resource.type is type for resource in document.configs)


async def apply(run: Run, planned: DocumentPlan) -> list[DocumentChange]:
    """Carry out a plan, and wait until a broker reports all of it.

    Raises:
        Failed: the cluster has changed since the plan was made, it refuses a change, or a step could not be sent. The
            rows say what was done.
        TimedOut: a change is not reported in time.
    """
    # The question may have waited for minutes.
    current = (await read_state(run.admin, planned.document.sections)).state
    again = {difference.key: difference for difference in compare(current, planned.document, prune=planned.prune)}
    moved = [difference for difference in planned.applied if again.get(difference.key) != difference]
    if moved:
        rows = [_row(difference, "changed since", "not as in the plan") for difference in moved]
        raise Failed(rows, "the cluster has changed since the plan was made: nothing was changed; make a new plan")
    progress = _Progress(run, planned)
    for step in steps(planned.differences):
        await progress.carry_out(step)
    rows = planned.rows(would=False)
    if progress.refused:
        raise Failed(progress.rows(), f"The cluster has refused {len(progress.refused)} of {progress.total} changes")
    if run.wait and planned.applied:
        await _wait_until_reported(run, planned, rows)
    return rows


class _Progress:
    """The steps that are done, for what is said after an interrupt or an error."""

    def __init__(self, run: Run, planned: DocumentPlan) -> None:
        self._run = run
        self._planned = planned
        self._done: set[DocumentDifference] = set()
        self.total = len(planned.applied)
        self.refused: dict[DocumentDifference, str] = {}

    def rows(self) -> list[DocumentChange]:
        """Return the rows of what was done and what was refused."""
        return [
            _row(difference, difference.action.value)
            if difference in self._done
            else _row(difference, "refused", self.refused[difference])
            for difference in self._planned.applied
            if difference in self._done or difference in self.refused
        ]

    async def carry_out(self, step: Step) -> None:
        """Send the request of a step.

        Raises:
            Failed: it was not answered.
        """
        differences = [difference for of_subject in step.differences.values() for difference in of_subject]
        self._run.interruption = (
            f"Interrupted: {len(self._done)} of {self.total} changes are made, and perhaps the next {len(differences)}."
            " The same command continues."
        )
        try:
            refused = await self._send(step, differences)
        except KwireError as error:
            raise Failed(
                self.rows(),
                f"stopped after {len(self._done)} of {self.total} changes, at {step.what}: {error}. The same command "
                "continues",
            ) from error
        self.refused |= refused
        self._done.update(difference for difference in differences if difference not in refused)
        self._run.show(f"{len(self._done)} of {self.total} changes are made")

    async def _send(self, step: Step, differences: Sequence[DocumentDifference]) -> Mapping[DocumentDifference, str]:
        """Send the request of a step, and return why the cluster refuses some of its differences."""

        async def carry_out() -> dict[DocumentDifference, str]:
            errors = await step.carry_out(self._run.admin)
            return {change: errors[change.subject].reason for change in differences if change.subject in errors}

        if self._run.admin.dialect == "kip4":  # nodes have an audit of their own
            return await carry_out()
        changes = [JournaledChange(change.resource, change.name, change.old, change.new) for change in differences]
        with journaled(self._run, self._planned.cluster_id, changes) as refused:
            reasons = await carry_out()
            refused.update((change.resource, reason) for change, reason in reasons.items())
        return reasons


async def _wait_until_reported(run: Run, planned: DocumentPlan, rows: list[DocumentChange]) -> None:
    """Wait until the cluster is as the document says. Brokers report changes a moment after they have accepted them."""
    expected = {difference.key for difference in planned.applied}
    deadline = monotonic() + run.wait
    while True:
        current = (await read_state(run.admin, planned.document.sections)).state
        # The types of configs of topics may be known only now: the cluster had no topic before.
        document = await with_canonical_configs(run.admin, planned.document, current)
        missing = [
            difference for difference in compare(current, document, prune=planned.prune) if difference.key in expected
        ]
        if not missing:
            return
        if monotonic() > deadline:
            raise TimedOut(rows, f"all changes are made, but {missing[0]} is not reported within {run.wait:g} s")
        await sleep(PAUSE_S)


def _row(difference: DocumentDifference, status: str, reason: str = "") -> DocumentChange:
    why = reason or (difference.reason if difference.action in (DocumentAction.KEEP, DocumentAction.MANUAL) else "")
    return DocumentChange(difference.resource, difference.name, difference.old, difference.new, status, why or None)
