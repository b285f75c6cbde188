"""Free ports stay free until a server listens there."""

from __future__ import annotations

import socket

from tests.free_ports import free_ports


def test_ports_are_not_assigned_to_others_and_a_server_can_listen_there() -> None:
    ports = free_ports(100)
    assert len(set(ports)) == 100
    for reuses in (0, 1):
        for _ in range(1_000):  # any of 28,000 ports; the system assigns half of them
            with socket.socket() as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuses)
                other.bind(("127.0.0.1", 0))
                assert other.getsockname()[1] not in ports
    for port in ports:
        with socket.create_server(("127.0.0.1", port)) as server, socket.create_connection(server.getsockname()):
            pass
