"""Inputs of silver besides metadata: what further polled requests report.

An input is declared in one module of this package: the API keys of its responses, its tables, and the state from which
changes become rows. `INPUTS` lists them.
"""

from __future__ import annotations

from kwire_pipeline.silver.inputs import group_offsets, log_dirs
from kwire_pipeline.silver.inputs.silver_input import InputState, SilverInput

__all__ = ["INPUTS", "InputState", "SilverInput"]

INPUTS: tuple[SilverInput, ...] = (group_offsets.INPUT, log_dirs.INPUT)
"""All inputs."""
