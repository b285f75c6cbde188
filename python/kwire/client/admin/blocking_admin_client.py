"""An admin client for programs without asyncio, with the operations of `AdminClient`.

Type checkers see them in the stub of this module, which `make stubs` writes.
"""

from __future__ import annotations

from inspect import iscoroutinefunction

from kwire.client.admin.admin_client import AdminClient
from kwire.client.admin.blocking import BlockingSession
from kwire.client.loop_thread import blocking


class BlockingAdminClient(BlockingSession):
    """Administers a cluster. Use `with BlockingAdminClient(...)`, or `close` it.

    Its methods are the operations of `AdminClient` with their arguments, results, and errors. Each waits for its
    result. They may be called in several threads, but not in the process after a fork. The class has the
    arguments and errors of `AdminClient.open`.

    Every method raises LoopThreadClosed, a RuntimeError, if the client is closed before it has a result.
    """


OPERATIONS = tuple(
    name
    for name in list(vars(AdminClient))
    if not (name.startswith("_") or isinstance(vars(AdminClient)[name], classmethod))
    and iscoroutinefunction(getattr(AdminClient, name))
    and not hasattr(BlockingSession, name)
)
"""The names of the operations, in the order of `AdminClient`."""

for _name in OPERATIONS:
    setattr(BlockingAdminClient, _name, blocking(getattr(AdminClient, _name)))
