"""Files and environment variables of the user. Completion imports this module, so it imports next to nothing.

An option never yields to a variable, wherever it is on the command line, and a variable never completes an option that
names another cluster: `kafka --cluster dev` with KWIRE_BOOTSTRAP of another cluster works on `dev`.
"""

from __future__ import annotations

import os

from kwire.storage.staging import base_folder, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OUTPUTS", "VARIABLES", "WAIT_S", "cache_folder", "config_file", "state_folder", "variables_for"]

VARIABLES = {
    "bootstrap": "KWIRE_BOOTSTRAP",
    "cluster": "KWIRE_CLUSTER",
    "command_config": "KWIRE_COMMAND_CONFIG",
}
"""The variable of each option."""
OUTPUTS = ("table", "json", "jsonl", "csv", "yaml")
"""The formats of rows. `help` beside them describes the rows."""
WAIT_S = 30.0
"""Seconds for which a verb waits by default until every broker reports its change."""


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


def config_file() -> str:
    """Return the path of the configuration file, which need not exist."""
    if path := os.environ.get("KWIRE_CONFIG"):
        return path
    return os.path.join(base_folder("XDG_CONFIG_HOME", ".config"), "kwire", "config.toml")


def cache_folder() -> str:
    """Return the folder of the names for completion, which need not exist."""
    return os.path.join(base_folder("XDG_CACHE_HOME", ".cache"), "kwire", "completion")
