"""The options that the verbs share that start or continue the execution of a plan."""

from __future__ import annotations

from pathlib import Path

from kwire._util.light_typing import Annotated, TypeAlias
from kwire_admin.operations.parameters import Option
from kwire_admin.operations.verbs.reassignments import SIZE

__all__ = ["BatchSize", "JournalFolder", "MovesPerBroker", "Throttle"]

Throttle: TypeAlias = Annotated[
    str | None, Option("Bytes a second that a broker may send and receive, such as 50M.", "RATE", syntax=SIZE)
]
BatchSize: TypeAlias = Annotated[
    str | None, Option("Bytes that a batch copies [default: 10G for each broker].", "SIZE", syntax=SIZE)
]
MovesPerBroker: TypeAlias = Annotated[
    int, Option("Replicas that a broker sends or receives at a time [default: 5].", "N", minimum=1)
]
JournalFolder: TypeAlias = Annotated[
    Path | None,
    Option("The folder for journals of all clusters [default: ~/.local/state/kwire/reassign].", "FOLDER"),
]
