"""For those who test programs that speak Kafka's protocol.

strategies      random messages for Hypothesis, of any declaration
"""

from __future__ import annotations
