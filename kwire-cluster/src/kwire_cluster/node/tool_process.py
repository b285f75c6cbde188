"""Runs a tool in a process of its own, with limits of time, memory, and output.

A tool works with arguments of a client: patterns, files, addresses. In a thread of the node it could stop the node; a
process can be killed. The process shares a socket with the node, on which each message is a line of JSON, and its
standard output is a pipe to the node:

    node                                          process of the tool
    starts it, sends the job                 ->
                                             <-   {"started": true}, from which the time limit counts
                                             <-   {"connect": [host, port]}, any number of times
    {"connected": true} with a socket,
    or {"refused": reason}                   ->
                                             <-   output, through the pipe
                                             <-   {"exit_status": 0, "error": null}
    kills it, with all that it has started   ->

The node reads the output as it comes, and kills the process at a limit. A process that ends without a last message has
a status and a sentence as well.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire._util.child_process import ChildProcess
from kwire_cluster.node.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FAILED", "MAX_OUTPUT", "TIMED_OUT", "ToolOutcome", "run_process"]

MODULE = "kwire_zookeeper_tools.process"
MAX_OUTPUT = 16 * 1024 * 1024
"""Largest output in bytes. A tool that writes more is killed."""
MEMORY = 512 * 1024 * 1024
"""Bytes of memory that the process of a tool may allocate. Measured: the program itself takes 24 MB."""
MAX_MESSAGE = 1 << 20
"""Largest message of the process in bytes; its last one has the sentence of an error."""
START_SECONDS = 60.0
"""Timeout of the start of the process, which takes 0.3 s on an idle machine."""
GRACE_SECONDS = 3.0
"""Time for which a tool may exceed its limit, or go on after SIGTERM, to clean up before it is killed."""
READ_BYTES = 1 << 16

FAILED, TIMED_OUT = 1, 3
"""Exit statuses, as the command has them."""

log = logger(__name__)


class ToolOutcome(NamedTuple):
    """Output and exit status of a tool.

    Attributes:
        exit_status: 0 for success.
        output: printed text.
        error: the reason of a failure as one sentence; None for success.
    """

    exit_status: int
    output: bytes
    error: str | None


class _StartFailed(Exception):
    """The process cannot be started."""


class _OutputTooLarge(Exception):
    """The output exceeds its limit."""


async def run_process(
    name: str, job: Mapping[str, Any], connect: Callable[[str, int], socket.socket], time_limit: float | None
) -> ToolOutcome:
    """Run a tool in a process of its own.

    Args:
        name: the name of the tool.
        job: the first message to the process.
        connect: returns a socket that is connected to a node. Raises OSError.
        time_limit: seconds that the tool may take; None for no limit.
    """
    try:
        run = _ProcessRun({**job, "memory_bytes": MEMORY}, connect, time_limit)
    except OSError as error:  # too many open files
        return ToolOutcome(FAILED, b"", f"{name}: its process cannot be started: {error}")
    try:
        async with asyncio.timeout(START_SECONDS) as deadline:
            run.deadline = deadline
            await run.communicate()
    except TimeoutError:
        limit = START_SECONDS if time_limit is None or not run.has_started else time_limit
        reason = "finish" if run.has_started else "start"
        return ToolOutcome(
            TIMED_OUT, bytes(run.output), f"{name}: it did not {reason} within {limit:g} s and was ended"
        )
    except _StartFailed as error:
        return ToolOutcome(FAILED, b"", f"{name}: its process cannot be started: {error}")
    except _OutputTooLarge:
        return ToolOutcome(FAILED, bytes(run.output), f"{name}: its output exceeds {MAX_OUTPUT:,} bytes")
    except asyncio.CancelledError:
        run.begin_end(GRACE_SECONDS)
        raise
    finally:
        run.begin_end(0)
        await run.wait_ended()
    if run.last_message is None:
        status = _status_text(run.status)
        log.error("the process of a tool ended unexpectedly", tool=name, status=status)
        return ToolOutcome(FAILED, bytes(run.output), f"{name}: its process ended unexpectedly ({status})")
    return ToolOutcome(run.last_message["exit_status"], bytes(run.output), run.last_message["error"])


class _ProcessRun:
    """The process of one run, its socket, and its pipe."""

    def __init__(
        self, job: Mapping[str, Any], connect: Callable[[str, int], socket.socket], time_limit: float | None
    ) -> None:
        self._job = job
        self._connect = connect
        self._time_limit = time_limit
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        reading, writing = os.pipe()
        self._pipe = os.fdopen(reading, "rb", buffering=0)
        self._is_read = False
        # In a thread: starting a program takes 5 ms, and 90 ms on a busy machine.
        self._starting = asyncio.get_running_loop().run_in_executor(None, _start, theirs, writing)
        self.deadline: asyncio.Timeout | None = None
        self.has_started = False
        self.last_message: dict[str, Any] | None = None
        self.output = bytearray()
        self.status = 0
        """The exit status of the process, negative for a signal, once it has ended."""
        self._ending: asyncio.Task[None] | None = None
        self._must_hurry = asyncio.Event()

    async def communicate(self) -> None:
        """Serve the process until it has ended, and read its output.

        Raises:
            _StartFailed: the process cannot be started.
            _OutputTooLarge: the output exceeds its limit.
        """
        try:
            await asyncio.shield(self._starting)
        except OSError as error:
            raise _StartFailed(error) from error
        reading, serving = (asyncio.ensure_future(work) for work in (self._read_output(), self._serve()))
        try:
            await asyncio.wait((reading, serving), return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                reading.result()  # raises at the limit; a tool may also have closed its output
            await serving
            self.begin_end(0)
            await self.wait_ended()  # otherwise a process that the tool has started could keep the pipe open
            await reading
        finally:
            reading.cancel()
            serving.cancel()
            await asyncio.gather(reading, serving, return_exceptions=True)

    async def _read_output(self) -> None:
        loop = asyncio.get_running_loop()
        self._is_read = True
        reader = asyncio.StreamReader(limit=READ_BYTES)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._pipe)
        try:
            while data := await reader.read(READ_BYTES):
                self.output += data[: MAX_OUTPUT - len(self.output)]
                if len(self.output) == MAX_OUTPUT:
                    raise _OutputTooLarge
        finally:
            transport.close()  # and the pipe

    async def _serve(self) -> None:
        """Send the job, and answer messages until the last one, or until the process has ended."""
        loop = asyncio.get_running_loop()
        received = bytearray()
        with suppress(ConnectionError):  # it has ended
            await loop.sock_sendall(self._control, json.dumps(self._job).encode() + b"\n")
            while self.last_message is None and len(received) < MAX_MESSAGE:
                data = await loop.sock_recv(self._control, READ_BYTES)
                if not data:
                    return
                received += data
                *lines, rest = received.split(b"\n")
                received = bytearray(rest)
                for line in lines:
                    self._answer(json.loads(line))

    def _answer(self, message: dict[str, Any]) -> None:
        if "exit_status" in message:
            self.last_message = message
        elif "started" in message:
            self.has_started = True
            if self.deadline is not None:
                now = asyncio.get_running_loop().time()
                limit = self._time_limit
                self.deadline.reschedule(None if limit is None else now + limit + GRACE_SECONDS)
        else:
            host, port = message["connect"]
            try:
                connection = self._connect(host, port)
            except OSError as error:
                self._control.sendall(json.dumps({"refused": str(error)}).encode() + b"\n")
                return
            with connection:  # the process has a copy
                socket.send_fds(self._control, [b'{"connected": true}\n'], [connection.fileno()])

    def begin_end(self, grace: float) -> None:
        """Begin to end the process and its children, unless that has begun.

        Args:
            grace: seconds that it has to end by itself after SIGTERM; 0 kills it at once.
        """
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end(grace))

    async def wait_ended(self) -> None:
        """Wait until the process has ended, also when canceled: it must be reaped."""
        assert self._ending is not None
        while not self._ending.done():
            try:
                await asyncio.wait((self._ending,))
            except asyncio.CancelledError:
                self._must_hurry.set()  # canceled before because its client has left, now because the node stops
        self._ending.result()

    async def _end(self, grace: float) -> None:
        try:
            with suppress(OSError):  # it cannot be started, which `communicate` reports
                await self._end_process(await self._starting, grace)
        finally:
            self._control.close()
            if not self._is_read:
                self._pipe.close()

    async def _end_process(self, process: ChildProcess, grace: float) -> None:
        if grace:
            # It is not reaped before `kill`, so its id cannot belong to another process.
            os.kill(process.pid, signal.SIGTERM)
            closed = asyncio.ensure_future(self._wait_closed())
            hurry = asyncio.ensure_future(self._must_hurry.wait())
            await asyncio.wait((closed, hurry), timeout=grace, return_when=asyncio.FIRST_COMPLETED)
            for waiting in (closed, hurry):
                waiting.cancel()
            await asyncio.gather(closed, hurry, return_exceptions=True)
        self.status = await asyncio.to_thread(process.kill)

    async def _wait_closed(self) -> None:
        """Wait until the process has closed its socket, which it does when it ends."""
        while await asyncio.get_running_loop().sock_recv(self._control, READ_BYTES):
            pass


def _status_text(status: int) -> str:
    names = (number.name for number in signal.Signals if number == -status)
    return next(names, f"exit status {status}")


def _start(control: socket.socket, output: int) -> ChildProcess:
    """Start the process with its ends of the socket and the pipe, which are closed here."""
    # -P: a module in the working folder must not replace one of kwire. The allocator of the engine would otherwise
    # reserve memory for later, which counts as used.
    paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path)
    environment = {**os.environ, "PYTHONPATH": paths, "MIMALLOC_ARENA_EAGER_COMMIT": "0"}
    command = [sys.executable, "-P", "-m", MODULE, str(control.fileno())]
    try:
        return ChildProcess(command, output, environment, descriptors=[control.fileno()])
    finally:
        control.close()
        os.close(output)
