"""A process that has imported the command, and forks a child for each run.

Most of the time of a short run is Python's start and the imports. A forked child has neither, but everything else of a
process: its own streams, environment, working directory, signals, and exit code. What depends on the start of Python
itself (its options, `PYTHON...` variables, imports) is tested with ordinary processes.

    test                                server                     keeper                  child
    Popen on first use     ->           imports the command
    request, 4 descriptors ->           fork             ->        fork            ->      the command
                                                                   waits           <-      exits
    reads the exit status  <-  ------------------------------------ writes it
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn, TypedDict

PRELOADED = (
    "asyncio",
    "rich.console",
    "rich.table",
    "kwire_admin.cli.verb_run",
    "kwire.client.admin",
    "pyarrow.parquet",
)
MAX_REQUEST = 1 << 20
_STATUS = struct.Struct("i")


class Request(TypedDict):
    """A run of the command."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str


_server: socket.socket | None = None
_lock = threading.Lock()


def run(arguments: list[str], environment: dict[str, str], stdin: int, stdout: int, stderr: int) -> int:
    """Run the command in a forked child, and return its exit code: negative for a signal, as `subprocess` has it."""
    request = Request(arguments=arguments, environment=environment, folder=str(Path.cwd()))
    reading, writing = os.pipe()
    with _lock:
        socket.send_fds(_connected(), [json.dumps(request).encode()], [stdin, stdout, stderr, writing])
    os.close(writing)
    with os.fdopen(reading, "rb") as status:
        [code] = _STATUS.unpack(status.read())
    return os.waitstatus_to_exitcode(code)


def _connected() -> socket.socket:
    global _server  # one server for all tests of a process
    if _server is None:
        _server, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = subprocess.Popen([sys.executable, "-m", __name__, str(end.fileno())], pass_fds=[end.fileno()])
        end.close()
        atexit.register(_stop, process, _server)
    return _server


def _stop(process: subprocess.Popen[bytes], server: socket.socket) -> None:
    server.close()
    process.wait()


def _serve(requests: socket.socket) -> None:
    """Fork a child for each request, until the tests have ended."""
    from importlib import import_module

    from kwire.cli.program import command_names
    from kwire_admin.cli.program import program

    context = program.make_context("kwire", ["--help"], resilient_parsing=True)
    for name in command_names():
        program.get_command(context, name)
    for name in PRELOADED:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
        if not request:
            return
        if os.fork() == 0:
            _keep(requests, json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(requests: socket.socket, request: Request, descriptors: list[int]) -> NoReturn:
    """Fork the child, wait for its end, and report its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    requests.close()
    *streams, status = descriptors
    child = os.fork()
    if child == 0:
        os.close(status)
        _run(request, streams)
    for stream in streams:
        os.close(stream)
    os.write(status, _STATUS.pack(os.waitpid(child, 0)[1]))
    os._exit(0)


def _run(request: Request, streams: list[int]) -> NoReturn:
    """Run the command, as a new interpreter does."""
    for descriptor, stream in enumerate(streams):
        os.dup2(stream, descriptor)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv[1:] = request["arguments"]
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    code = 1
    try:
        from kwire.cli import main

        main()
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 0
    except BaseException:  # noqa: BLE001  # an interpreter prints an unhandled exception, and ends
        sys.excepthook(*sys.exc_info())
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as the end of an interpreter does
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
