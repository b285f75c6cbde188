"""Options of verbs that make or simulate plans."""

from __future__ import annotations

from pathlib import Path

from kwire._util.extras import install_hint
from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.text_files import EncodingError, read_text
from kwire_admin.operations.parameters import InvalidArgument, Syntax
from kwire_admin.reassignment.errors import InvalidSnapshot
from kwire_admin.reassignment.request import Balance
from kwire_admin.reassignment.snapshot import ClusterSnapshot
from kwire_admin.reassignment.snapshot_reader import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_admin.operations.run import Run
    from kwire_admin.reassignment.plan import Plan
    from kwire_admin.reassignment.request import PlanRequest

__all__ = ["make_plan", "parse_balance", "snapshot_of"]

GOAL = Syntax(
    rf"({'|'.join(Balance)})(?:=([1-9][0-9]{{0,8}}(?:\.[0-9]{{1,6}})?|0\.[0-9]{{0,5}}[1-9]0{{0,6}}))?",
    f"a goal: write {', '.join(Balance)}, or one of them with a weight above 0, such as size=2",
)


def parse_balance(texts: Sequence[str]) -> dict[Balance, float]:
    """Return weights by goal from texts such as `count` and `size=2`.

    Raises:
        InvalidArgument: a text is not a goal, or a weight is not above 0.
    """
    goals = [GOAL.match(text).groups() for text in texts]
    return {Balance(name): 1.0 if weight is None else float(weight) for name, weight in goals}


async def snapshot_of(run: Run, path: Path | None) -> ClusterSnapshot:
    """Return the snapshot in a file or a capture, or of the cluster.

    Raises:
        InvalidArgument: the file cannot be read, or is not a snapshot; or neither a file nor a cluster was named.
        CaptureError: the folder is not a capture.
    """
    if path is None:
        return await read_snapshot(run.admin)
    return _snapshot_in(path)


def _snapshot_in(path: Path) -> ClusterSnapshot:
    try:
        if path.is_dir():
            from kwire_admin.reassignment.capture_snapshot import snapshot_of_capture

            return snapshot_of_capture(path)
        return ClusterSnapshot.from_json(read_text(path))
    except OSError as error:
        raise InvalidArgument(f"cannot read {path}: {error.strerror or error}") from None
    except (EncodingError, InvalidSnapshot) as error:
        raise InvalidArgument(f"{path}: {error}") from None
    except ModuleNotFoundError as error:
        raise InvalidArgument(install_hint(error) or str(error)) from None


def make_plan(snapshot: ClusterSnapshot, request: PlanRequest) -> Plan:
    """Return a plan.

    Raises:
        InvalidArgument: the libraries for planning are missing.
        InvalidRequest: see `kwire_admin.reassignment.planning.planner.plan`, as for InfeasiblePlan.
    """
    try:
        from kwire_admin.reassignment.planning.planner import plan
    except ModuleNotFoundError as error:
        raise InvalidArgument(install_hint(error) or str(error)) from None
    return plan(snapshot, request)
