"""The socket of a node: connections, frames, limits, TLS, and authentication."""
