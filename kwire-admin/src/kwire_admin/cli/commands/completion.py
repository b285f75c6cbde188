"""`kafka completion`: print what a shell needs to complete command lines."""

from __future__ import annotations

from pathlib import Path

import click

from kwire_admin.cli import completion as package

SCRIPTS = Path(package.__file__).parent / "scripts"
"""A file for each shell."""


@click.command()
@click.argument("shell", type=click.Choice(sorted(path.name for path in SCRIPTS.iterdir())))
def completion(shell: str) -> int:
    """Print the script with which a shell completes commands at Tab.

    Commands, options, and live names (topics, groups, brokers, configs) complete at Tab. Names come from the cluster
    that the line or the environment names, and are kept in ~/.cache/kwire for a day.

    \b
    Examples:
      source <(kwire completion bash)         # in ~/.bashrc
      source <(kwire completion zsh)          # in ~/.zshrc, after compinit
      kwire completion fish | source          # in ~/.config/fish/config.fish
    """
    print((SCRIPTS / shell).read_text(encoding="utf-8"), end="")
    return 0
