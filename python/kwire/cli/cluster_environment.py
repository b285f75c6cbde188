"""Variables of the environment that choose a cluster where options do not.

An option never yields to a variable, wherever it is on the command line, and a variable never completes an option that
names another cluster: `kafka --cluster dev` with KWIRE_BOOTSTRAP of another cluster works on `dev`. Completion imports
this module, so it imports next to nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["VARIABLES", "variables_for"]

VARIABLES = {
    "bootstrap": "KWIRE_BOOTSTRAP",
    "cluster": "KWIRE_CLUSTER",
    "command_config": "KWIRE_COMMAND_CONFIG",
}
"""The variable of each option."""


def variables_for(given: Mapping[str, object]) -> dict[str, str]:
    """Return the values of the variables that apply beside options, by the name of the option.

    A cluster of the configuration file is complete, so no variable applies beside `--cluster`. Beside `--bootstrap`,
    only KWIRE_COMMAND_CONFIG does.

    Args:
        given: the values of options by name; None for an option that was not given. `--bootstrap ''` was given.
    """
    if given.get("cluster") is not None:
        return {}
    names = ("command_config",) if given.get("bootstrap") is not None else tuple(VARIABLES)
    return {name: value for name in names if given.get(name) is None and (value := os.environ.get(VARIABLES[name]))}
