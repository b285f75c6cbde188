"""Kafka administration over the wire: messages declared once, a Rust codec, and a Python reference to prove it by."""

__version__ = "0.1.0"
