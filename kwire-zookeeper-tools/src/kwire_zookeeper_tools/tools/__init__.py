"""kwire's own tools: one file each, and the rows of the table of scripts."""

from kwire_zookeeper_tools.script_rows import SCRIPT_TOOLS as ROWS

__all__ = ["ROWS"]
