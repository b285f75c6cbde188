"""Administration of Kafka clusters: operations, the command, Kafka's scripts, HTTP, the exporter, and reassignments."""

from __future__ import annotations

__version__ = "0.1.0"
