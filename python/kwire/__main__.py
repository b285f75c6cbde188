"""Runs the `kwire` command by `python -m kwire`."""

from __future__ import annotations

from kwire.cli import main

if __name__ == "__main__":
    main()
