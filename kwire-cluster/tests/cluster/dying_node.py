"""A node that kills itself with SIGKILL before its n-th write to ZooKeeper; it runs instead of `kwire node`.

Only the store of the node is replaced. Writes are counted while the file `armed` exists in the folder of the node. It
contains n, or 0 for counting only; the count is in the file `counted`. If `settled` follows n, the process waits for
the results of earlier writes; otherwise these are in flight when it dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kwire_cluster.node.node
from kwire.cli import main
from kwire_cluster.zookeeper import connect

if TYPE_CHECKING:
    from kwire_cluster.zookeeper import Store

WRITES = {"multi", "create", "set", "delete"}
FOLDER = Path(next(argument for argument in sys.argv if argument.endswith("server.properties"))).parent


class DyingStore:
    """A store that counts the writes of all sessions of the process."""

    counted = 0
    dying = False
    in_flight: set[asyncio.Future[Any]] = set()  # noqa: RUF012  # shared by all sessions

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name in WRITES:
            return lambda *arguments, **named: self._write(name, *arguments, **named)
        return getattr(self._store, name)

    def _write(self, name: str, *arguments: Any, **named: Any) -> asyncio.Future[Any]:
        cls = type(self)
        if cls.dying:
            return asyncio.get_running_loop().create_future()
        armed = FOLDER / "armed"
        if not armed.exists():
            cls.counted = 0
        else:
            write, _, settled = armed.read_text(encoding="ascii").partition(" ")
            cls.counted += 1
            if cls.counted == int(write):
                cls.dying = True
                kill_when_settled() if settled else kill()
                return asyncio.get_running_loop().create_future()
            (FOLDER / "counted").write_text(str(cls.counted), encoding="ascii")
        result: asyncio.Future[Any] = getattr(self._store, name)(*arguments, **named)
        cls.in_flight.add(result)
        result.add_done_callback(cls.in_flight.discard)
        return result


def kill_when_settled(_: object = None) -> None:
    for write in DyingStore.in_flight:
        if not write.done():
            write.add_done_callback(kill_when_settled)
            return
    kill()


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def connect_dying_store(*arguments: Any, **named: Any) -> Any:
    return DyingStore(await connect(*arguments, **named))


if __name__ == "__main__":
    vars(kwire_cluster.node.node)["connect"] = connect_dying_store
    main()
