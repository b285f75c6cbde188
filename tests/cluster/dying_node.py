"""A node that kills itself, with SIGKILL, before its n-th write to ZooKeeper: run instead of `kwire node`.

Rules of this file: nothing of the node is changed but the store that it gets. Writes are counted from the moment that
the file ``armed`` appears in the node's folder; it holds n, or 0 for counting only, and the count is in ``counted``.
With ``settled`` behind n the earlier writes are answered before the end comes; without it they are under way.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kwire.cluster.node.node
from kwire.cli import main
from kwire.cluster.zookeeper import connect

if TYPE_CHECKING:
    from kwire.cluster.zookeeper import Store

WRITES = {"multi", "create", "set", "delete"}
FOLDER = Path(next(each for each in sys.argv if each.endswith("server.properties"))).parent


class DyingStore:
    """A store whose writes are counted, over all sessions of the process."""

    counted = 0
    ending = False
    under_way: set[asyncio.Future[Any]] = set()  # noqa: RUF012 - one for all, as the process has one end

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name in WRITES:
            return lambda *arguments, **named: self._write(name, *arguments, **named)
        return getattr(self._store, name)

    def _write(self, name: str, *arguments: Any, **named: Any) -> asyncio.Future[Any]:
        cls = type(self)
        if cls.ending:
            return asyncio.get_running_loop().create_future()
        armed = FOLDER / "armed"
        if not armed.exists():
            cls.counted = 0
        else:
            at, _, how = armed.read_text(encoding="ascii").partition(" ")
            cls.counted += 1
            if cls.counted == int(at):
                cls.ending = True
                end_when_settled() if how else end()
                return asyncio.get_running_loop().create_future()
            (FOLDER / "counted").write_text(str(cls.counted), encoding="ascii")
        made: asyncio.Future[Any] = getattr(self._store, name)(*arguments, **named)
        cls.under_way.add(made)
        made.add_done_callback(cls.under_way.discard)
        return made


def end_when_settled(_: object = None) -> None:
    for each in DyingStore.under_way:
        if not each.done():
            each.add_done_callback(end_when_settled)
            return
    end()


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def connect_dying(*arguments: Any, **named: Any) -> Any:
    return DyingStore(await connect(*arguments, **named))


if __name__ == "__main__":
    vars(kwire.cluster.node.node)["connect"] = connect_dying
    main()
