"""`kafka configs apply`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kwire.client.admin import ConfigResource
from kwire.operations.declaration import Rows, operation
from kwire.operations.parameters import Argument, Danger, InvalidArgument
from kwire.operations.run import Run
from kwire.operations.verbs.resources import name_resource, parse_resource


@dataclass(frozen=True, slots=True)
class AppliedConfig:
    """A config that differs from the document.

    Attributes:
        resource: the resource, such as `broker/default` or `topic/orders`.
        name: the name of the config.
        old: its value before; None if it was not set.
        new: its value in the file; None if it is deleted.
        status: `changed`, or `would be changed` in a dry run.
    """

    resource: str
    name: str
    old: str | None
    new: str | None
    status: str


@operation(
    Danger.DESTROYS,
    dialects=("kip4",),
    nothing="No configs differ.",
    examples=("configs apply configs.json --dry-run", "configs apply configs.json --yes"),
)
async def apply(
    run: Run,
    file: Annotated[Path, Argument("The rows of `configs export` in JSON, changed.", "FILE", document=True)],
) -> Rows[AppliedConfig]:
    """Give resources the configs of a document. Other resources stay as they are."""
    wanted = read_configs(file)
    planned = await run.admin.apply_configs(wanted, validate_only=True)
    if planned and not run.dry_run:
        run.confirm(f"Change {len(planned)} configs of {len({each.resource for each in planned})} resources?")
        planned = await run.admin.apply_configs(wanted)
    status = "would be changed" if run.dry_run else "changed"
    return [AppliedConfig(name_resource(each.resource), each.name, each.old, each.new, status) for each in planned]


def read_configs(file: Path) -> dict[ConfigResource, dict[str, str]]:
    """Return the configs in a file by resource.

    Raises:
        InvalidArgument: the file cannot be read, or is not what `configs export` prints.
    """
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{file}: {error}") from None
    wanted: dict[ConfigResource, dict[str, str]] = {}
    for row in rows if isinstance(rows, list) else [None]:
        if not (isinstance(row, dict) and all(isinstance(row.get(key), str) for key in ("resource", "name", "value"))):
            raise InvalidArgument(f"{file}: expected a list of objects with resource, name, and value as strings")
        wanted.setdefault(parse_resource(row["resource"]), {})[row["name"]] = row["value"]
    return wanted
