"""Kafka's own scripts on top of kwire: their options, their output, their exit codes.

`kafka compat install DIR` writes them as programs. From Python, each is a function with the arguments of its script:

    from kwire_admin import compat

    code = compat.kafka_topics("--bootstrap-server", "localhost:9092", "--list")

With `--bootstrap-server`, output and errors equal Kafka 3.9.1's. With `--zookeeper`, they equal those of a release that
`run_script` is given, by default 0.10.2.2, and `kafka-consumer-groups` acts on groups in ZooKeeper. Scripts that are
nothing but a tool of `kwire_admin.operations` are rows of the registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_admin.compat.install import install
from kwire_admin.compat.registry import OLD_RELEASES, SCRIPTS, run_script

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OLD_RELEASES", "SCRIPTS", "install", "run_script"]


def __getattr__(name: str) -> Callable[..., int]:
    """Return the function of a script, such as `kafka_topics`: it takes the arguments and returns the exit code."""
    script = name.replace("_", "-")
    if script not in SCRIPTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def function(*arguments: str) -> int:
        return run_script(script, arguments)

    return function
