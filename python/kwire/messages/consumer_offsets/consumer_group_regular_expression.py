"""ConsumerGroupRegularExpression: the topics that match the regular expression of a consumer group (KIP-848, Kafka
4.0).
"""

from __future__ import annotations

from kwire.declare import Message, array, int64, string


class ConsumerGroupRegularExpressionKey(Message, record_type=16, versions="0"):
    """The expression, which members of the group share."""

    group_id: string
    """The name in the configuration of clients (`group.id`)."""
    regular_expression: string
    """The pattern in the syntax of RE2/J."""


class ConsumerGroupRegularExpressionValue(Message, record_type=16, versions="0", flexible="0+"):
    """The topics that matched when the expression was last resolved."""

    topics: array[string]
    """The names of the topics that matched."""
    version: int64
    """The version of the metadata image that was searched."""
    timestamp: int64
    """The time of the search in milliseconds since 1970."""
