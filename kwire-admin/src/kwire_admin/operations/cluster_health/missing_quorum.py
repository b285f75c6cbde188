"""Answers that need the controller, on a KRaft cluster whose quorum has no leader.

Brokers keep requests that they pass on to a controller until these time out, and list dead brokers as before. So the
error of such a request names a broker that is not the cause. If an answer takes long or fails, all brokers are asked
for the quorum, as `cluster health` does.
"""

from __future__ import annotations

from contextlib import suppress

from kwire._util.concurrency import timeout_after
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar
from kwire.client.admin import AdminError
from kwire.errors import KwireError
from kwire.protocol.errors import ConnectionFault
from kwire_admin.operations.cluster_health.checks import UNAUTHORIZED, controller_problems
from kwire_admin.operations.cluster_health.sources import SILENT_SHARE, ask_all_brokers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kwire.client.admin import AdminClient

T = TypeVar("T")


class NoQuorum(KwireError, RuntimeError):
    """No broker reaches a leader of the controller quorum; `details` has the reasons by broker."""

    def __init__(self, details: str) -> None:
        super().__init__(details)
        self.details = details

    def __str__(self) -> str:
        return f"the controller quorum has no leader ({self.details}): start a majority of its voters"


async def unless_no_quorum(
    admin: AdminClient, ask: Callable[[], Coroutine[Any, Any, T]], *, is_short: bool = False
) -> T:
    """Return an answer of a cluster.

    Args:
        admin: a client of the cluster.
        ask: reads the answer, and changes nothing.
        is_short: True for a single request: if it is late, it is repeated after the question about the quorum. It is
            not waited for meanwhile, because a broker answers nothing else on its connection.

    Raises:
        NoQuorum: the answer is late or failed, and no broker reaches a leader of the quorum.
    """
    seconds = admin.router.timeout * SILENT_SHARE
    try:
        if is_short:
            with suppress(TimeoutError):
                async with timeout_after(seconds):
                    return await ask()
            await _check(admin)
        return await ask()
    except NoQuorum:
        raise
    except KwireError as error:
        if not isinstance(error, AdminError) or error.code not in UNAUTHORIZED:
            await _check(admin)
        raise


async def _check(admin: AdminClient) -> None:
    """Raise NoQuorum if no broker reaches a leader of the quorum."""
    if admin.dialect != "kafka":
        return
    for _ in range(2):  # a connection with a request that waits for the controller is closed by the first question
        with suppress(ConnectionFault):  # no broker answers, and the error of the request says that
            for problem in controller_problems(await ask_all_brokers(admin)):
                if problem.problem == "no-quorum":
                    raise NoQuorum(problem.details)
            return
