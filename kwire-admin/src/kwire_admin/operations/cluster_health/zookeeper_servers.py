"""The ZooKeeper servers of a Kafka cluster without KRaft.

Brokers that have lost ZooKeeper serve clients with the metadata of before, and name the controller of before, while
nothing can be created, elected, or changed. A request that needs ZooKeeper would show it, but each one occupies a
thread of the broker until ZooKeeper is back. So the servers are asked themselves, for their state (`srvr`).
"""

from __future__ import annotations

import socket

from kwire._util.concurrency import gather, to_thread
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.client.admin import AdminError, ConfigResource, ConfigResourceType
from kwire_admin.operations.cluster_health.checks import NOT_CHECKED, HealthProblem, metadata_sources
from kwire_admin.operations.cluster_health.sources import in_time, reason_of

if TYPE_CHECKING:
    from kwire.client.admin import AdminClient, ConfigValue
    from kwire_admin.operations.cluster_health.sources import Sources

CONNECT = "zookeeper.connect"
TLS = "zookeeper.ssl.client.enable"
DEFAULT_PORT = 2181
LONGEST_ANSWER = 4096
"""Bytes of an answer that are read: the mode follows about ten short lines. Chosen, not measured."""


class ServerState(NamedTuple):
    """The state of a server.

    Attributes:
        problem: the reason why it does not serve; None if it serves, or if that is unknown.
        unknown: the reason why its state is unknown; None if it is known.
    """

    problem: str | None = None
    unknown: str | None = None


async def zookeeper_problems(admin: AdminClient, sources: Sources, seconds: float) -> list[HealthProblem]:
    """Return the ZooKeeper servers that do not serve. A cluster with KRaft has none.

    Args:
        sources: the answers of brokers.
        seconds: timeout of each step.
    """
    ids = [sources.answers[address].id for address in metadata_sources(sources)]
    broker = next((id for id in ids if id is not None), None)
    if admin.dialect != "kafka" or broker is None or any(answer.quorum for answer in sources.answers.values()):
        return []
    configs = await in_time(_broker_configs(admin, broker), seconds)
    if isinstance(configs, Exception):
        return [HealthProblem(NOT_CHECKED, None, None, None, f"ZooKeeper: {reason_of(configs)}")]
    connect, tls = configs.get(CONNECT), configs.get(TLS)
    if connect is None or not connect.value:
        return []
    servers = dict.fromkeys(_servers(connect.value))
    uses_tls = tls is not None and tls.value == "true"
    states = await gather(*(to_thread(_state, host, port, seconds, uses_tls) for host, port in servers))
    problems: list[HealthProblem] = []
    for (host, port), state in zip(servers, states, strict=True):
        if state.problem is not None:
            details = f"{host}:{port}: {state.problem}"
            problems.append(HealthProblem("zookeeper-unreachable", None, None, None, details))
        elif state.unknown is not None:
            details = f"ZooKeeper at {host}:{port}: {state.unknown}"
            problems.append(HealthProblem(NOT_CHECKED, None, None, None, details))
    return problems


async def _broker_configs(admin: AdminClient, broker: int) -> dict[str, ConfigValue]:
    """Return the configs of a broker, which it has in memory.

    Raises:
        AdminError: the user must not see them.
    """
    resource = ConfigResource(ConfigResourceType.BROKER, str(broker))
    configs = (await admin.describe_configs([resource]))[resource]
    if isinstance(configs, AdminError):
        raise configs
    return dict(configs)


def _servers(connect: str) -> list[tuple[str, int]]:
    """Return host and port of each server of a connect string such as `zk-1:2181,zk-2:2181/kafka`."""
    servers: list[tuple[str, int]] = []
    for server in connect.partition("/")[0].split(","):
        host, colon, port = server.strip().rpartition(":")
        if colon and port.isdecimal():
            servers.append((host.strip("[]"), int(port)))
        elif server.strip():
            servers.append((server.strip().strip("[]"), DEFAULT_PORT))
    return servers


def _state(host: str, port: int, seconds: float, uses_tls: bool) -> ServerState:
    """Ask a server for its state.

    A server that this machine cannot reach might serve the brokers, in contrast to a server that refuses connections or
    does not answer. A server without a quorum answers with a sentence in place of its mode.
    """
    try:
        stream = socket.create_connection((host, port), seconds)
    except ConnectionRefusedError as error:
        return ServerState(problem=f"cannot connect: {error}")
    except (OSError, UnicodeError, OverflowError) as error:
        return ServerState(unknown=f"this machine cannot reach it: {error}")
    with stream:
        if uses_tls:
            return ServerState(unknown="it is asked without TLS only")
        try:
            stream.sendall(b"srvr")
            answer = b""
            while len(answer) < LONGEST_ANSWER and (part := stream.recv(LONGEST_ANSWER)):
                answer += part
        except TimeoutError:
            return ServerState(problem=f"no answer within {seconds:g} s")
        except OSError as error:
            return ServerState(problem=f"connection lost: {error}")
    if not answer:
        return ServerState(problem="connection closed without an answer")
    text = answer.decode("utf-8", errors="replace").strip()
    if "not currently serving requests" in text:
        return ServerState(problem="it is not serving requests: there is no quorum of ZooKeeper servers")
    return ServerState() if "Mode:" in text else ServerState(unknown=f"it answers {text[:80]!r} to srvr")
