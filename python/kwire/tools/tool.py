"""Declarations of tools: what a tool is called, takes, needs, and may do.

    @tool(needs={Need.ZOOKEEPER}, replaces="kafka.tools.ExportZkOffsets")
    async def export_zk_offsets(
        run: ToolRun, group: Annotated[list[str], Option("Only these groups.")] = []
    ) -> None:
        \"\"\"Write the offsets in ZooKeeper as lines of text.\"\"\"
        store = await run.zookeeper()
        run.print("...")

The name of the tool is that of the function, with `-` in place of `_`. Its output is what it prints. It fails by
raising ToolFailed, or InvalidArgument for an argument.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.errors import KwireError
from kwire.parameters import Address, Danger, Option, Parameter, declared_parameters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from kwire.tools.tool_run import ToolRun

__all__ = ["COMMON", "Need", "Tool", "ToolFailed", "tool"]

TIME_LIMIT = 60.0
"""Seconds that a tool may take, unless it declares another limit or a caller sets one."""


class Need(StrEnum):
    """What a tool uses."""

    ZOOKEEPER = "ZooKeeper"
    BROKERS = "brokers"
    FILES = "files"


class ToolFailed(KwireError):
    """A tool could not do its work. The text is one sentence that says why, and what was done before."""


COMMON: Mapping[Need, tuple[Parameter, ...]] = {
    Need.ZOOKEEPER: (
        Parameter(
            "zookeeper",
            Address,
            False,
            Option(
                "The ZooKeeper of the cluster [on a node: that of the node].",
                "HOST:PORT[/CHROOT]",
                also=("--zkconnect", "--zookeeper.connect"),
            ),
            None,
        ),
    ),
    Need.BROKERS: (
        Parameter(
            "bootstrap_server",
            Address,
            False,
            Option(
                "Some brokers of the cluster [default: those of the command; on a node: the node].",
                "HOST:PORT,...",
                also=("--broker-list",),
            ),
            None,
        ),
        Parameter(
            "command_config",
            Path,
            False,
            Option("The client.properties for these brokers.", "FILE"),
            None,
        ),
    ),
    Need.FILES: (),
}
"""The options that every tool with a need has."""
ALWAYS = (
    Parameter(
        "time_limit",
        float,
        False,
        Option("Seconds that the tool may take; 0 for no limit.", "SECONDS"),
        None,
    ),
)
"""The options that every tool has."""


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        function: what it does.
        needs: what it uses.
        danger: what it does to a cluster, whatever its arguments are.
        warning: what a run that destroys something means for the cluster, as a sentence after the question.
        without_effect: options of Kafka's tool that are accepted without effect, such as `--threads N` and `--sync`.
        ignores_arguments: whether it ignores unknown arguments.
        dangers: what it does with a flag, or with a value of a positional parameter, by its name.
        time_limit: seconds that it may take; None for no limit.
        replaces: the names of Kafka's classes that do the same.
        examples: arguments, for the help.
    """

    function: Callable[..., Awaitable[None]]
    needs: frozenset[Need] = frozenset()
    danger: Danger = Danger.READS
    time_limit: float | None = TIME_LIMIT
    replaces: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    dangers: Mapping[str, Danger] = field(default_factory=dict)
    ignores_arguments: bool = False
    without_effect: tuple[str, ...] = ()
    warning: str = ""

    @property
    def name(self) -> str:
        """The name in a command line, such as `export-zk-offsets`."""
        return self.function.__name__.strip("_").replace("_", "-")

    @property
    def help(self) -> str:
        """The docstring."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.help.partition("\n")[0]

    @property
    def highest_danger(self) -> Danger:
        """What it does at most."""
        return max((self.danger, *self.dangers.values()))

    def danger_of(self, values: Mapping[str, Any]) -> Danger:
        """Return what a run with these values of parameters does."""
        given = (name if value is True else str(value) for name, value in values.items())
        return max((self.danger, *(self.dangers.get(each, Danger.READS) for each in given)))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the function.

        Raises:
            TypeError: a parameter has neither Argument nor Option.
        """
        return declared_parameters(self.function)

    @cached_property
    def common_parameters(self) -> tuple[Parameter, ...]:
        """The options of its needs, and those that every tool has, without those that its function declares."""
        own = {each.name for each in self.parameters}
        needed = (each for need in Need if need in self.needs for each in COMMON[need])
        return tuple(each for each in (*needed, *ALWAYS) if each.name not in own)

    async def __call__(self, run: ToolRun, **values: Any) -> None:
        """Run the tool."""
        await self.function(run, **values)


def tool(
    danger: Danger = Danger.READS,
    *,
    needs: Collection[Need] = (),
    time_limit: float | None = TIME_LIMIT,
    replaces: str | tuple[str, ...] = (),
    examples: tuple[str, ...] = (),
    dangers: Mapping[str, Danger] | None = None,
    ignores_arguments: bool = False,
    without_effect: tuple[str, ...] = (),
    warning: str = "",
) -> Callable[[Callable[..., Awaitable[None]]], Tool]:
    """Declare a function as a tool. See the attributes of Tool."""

    def declare(function: Callable[..., Awaitable[None]]) -> Tool:
        return Tool(
            function,
            frozenset(needs),
            danger,
            time_limit,
            (replaces,) if isinstance(replaces, str) else replaces,
            examples,
            dangers or {},
            ignores_arguments,
            without_effect,
            warning,
        )

    return declare
