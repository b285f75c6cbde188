"""Selectors of each kind of system, compared with `selectors` of the standard library."""

from __future__ import annotations

import select
import selectors
import socket
from contextlib import suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from kwire._util.light_loop import LightLoop
from kwire._util.light_sockets import EVENT_READ, EVENT_WRITE, Selector

if TYPE_CHECKING:
    from collections.abc import Callable

LACKING: dict[str, tuple[str, ...]] = {"epoll": (), "poll": ("epoll",), "select": ("epoll", "poll")}


@pytest.fixture(params=LACKING)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The function of the system that selectors use."""
    for name in LACKING[request.param]:
        monkeypatch.delattr(select, name)
    return str(request.param)


def act(random: Random, watched: list[socket.socket], peers: list[socket.socket]) -> None:
    """Send, receive, or close at the other ends of sockets."""
    peer = random.choice(peers)
    if peer.fileno() == -1:
        return
    match random.randrange(3):
        case 0:
            peer.send(b"x")
        case 1:
            peer.close()
        case 2:
            with suppress(BlockingIOError):
                watched[peers.index(peer)].recv(100)


def test_events_are_those_of_the_standard_library(kind: str) -> None:
    for seed in range(30):
        random = Random(f"{seed} {kind}")
        pairs = [socket.socketpair() for _ in range(4)]
        watched, peers = [one for one, _ in pairs], [other for _, other in pairs]
        functions: list[Callable[[int], object]] = [partial(max, number) for number in range(4)]
        ours, theirs = Selector(), selectors.SelectSelector()
        kinds = {EVENT_READ: selectors.EVENT_READ, EVENT_WRITE: selectors.EVENT_WRITE}
        for one in watched:
            one.setblocking(False)
        for _ in range(30):
            at = random.randrange(4)
            events = random.choice((0, EVENT_READ, EVENT_WRITE, EVENT_READ | EVENT_WRITE))
            ours.watch(watched[at], events, functions[at])
            if watched[at] in theirs.get_map():
                theirs.unregister(watched[at])
            if events:
                theirs.register(watched[at], sum(kinds[kind] for kind in kinds if events & kind), at)
            act(random, watched, peers)
            expected = {
                (key.data, of_ours)
                for key, mask in theirs.select(0)
                for of_ours, of_theirs in kinds.items()
                if mask & of_theirs
            }
            found = ours.select(0)
            assert expected == {
                (functions.index(function), event) for function, mask in found for event in kinds if mask & event
            }
        for one in (*watched, *peers):
            ours.watch(one, 0, print)
            one.close()
        assert ours.select(0.001) == []
        ours.close()
        theirs.close()


def test_loop_waits_for_threads_and_timers(kind: str) -> None:
    async def main(loop: LightLoop) -> tuple[int, float]:
        before = loop.time()
        await loop.sleep(0.002)
        return await loop.to_thread(len, "abc"), loop.time() - before

    loop = LightLoop()
    result, seconds = loop.run(main(loop))

    assert result == 3
    assert seconds >= 0.002
