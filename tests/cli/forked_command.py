"""Runs of the `kwire` command as forks of a process that has imported it.

A new interpreter that imports the command takes 0.2 s of a processor, and tests run the command hundreds of times. Each
run is still a process of its own with the given streams, environment, and folder, and ends as an interpreter does.

    tests                                                    server
      | request as JSON, with the descriptors of stdin,        |
      | stdout, stderr, and of a pipe for the exit code  ----> | forks a parent, which forks the command and waits
      | <------------------------------ exit code in the pipe  |

The server ends when the tests do: the other end of its socket is closed.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
MAX_REQUEST = 150_000
"""Bytes of a request; Linux sends packets of up to 208 KiB through a socket, and counts some more for each."""
READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ")
"""Variables that an interpreter or its C library reads when it starts."""


@cache
def _server() -> tuple[socket.socket, dict[str, str]]:
    """Start the server, and return the socket for requests and the variables that it has read."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.cli.forked_command", str(theirs.fileno())]
        process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
    atexit.register(process.wait)
    atexit.register(ours.close)  # runs before `wait`
    return ours, _read_at_start(os.environ)


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


def run(
    arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run the command with pipes for all streams, in the current folder.

    With other variables of `READ_AT_START`, it is run by an interpreter of its own.
    """
    server, variables = _server()
    request = json.dumps([arguments, dict(environment), str(Path.cwd())]).encode()
    if _read_at_start(environment) != variables or len(request) > MAX_REQUEST:
        command = [sys.executable, "-m", "kwire", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)
    their_stdin, our_stdin = os.pipe()
    pipes = [os.pipe() for _ in range(3)]
    theirs = [their_stdin, *(write for _, write in pipes)]
    try:
        socket.send_fds(server, [request], theirs)
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    with ThreadPoolExecutor(4) as pool:
        pool.submit(_write, our_stdin, stdin)
        out, err, code = pool.map(_read, (read for read, _ in pipes))
    return subprocess.CompletedProcess(arguments, int(code), out, err)


def _write(descriptor: int, data: bytes) -> None:
    try:
        with open(descriptor, "wb", buffering=0) as pipe:
            while data:
                data = data[pipe.write(data) or 0 :]
    except BrokenPipeError:
        pass  # the command does not read all of it, as with `subprocess.run`


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read()


def _serve(requests: socket.socket) -> list[str] | None:
    """Fork a process for each request; return its arguments there, and None in the server once the tests have ended."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 4)
        if not request:
            return None
        parent = os.fork()
        if parent == 0:
            requests.close()
            command = os.fork()
            if command == 0:
                arguments, environment, folder = json.loads(request)
                _enter(environment, folder, descriptors)
                return list(arguments)
            *streams, code = descriptors
            for descriptor in streams:
                os.close(descriptor)
            _, status = os.waitpid(command, 0)
            os.write(code, str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        _reap()


def _reap() -> None:
    """Forget the parents that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass  # there is none any more


def _enter(environment: dict[str, str], folder: str, descriptors: list[int]) -> None:
    """Give this process the environment, the folder, and the streams of a run."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    *streams, code = descriptors
    os.close(code)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # open until the process ends, as Python's own
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # see above
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115  # see above


def main() -> None:
    """Serve, or run the command in a fork."""
    from kwire.cli.program import command_names

    for module in ("kwire.client.admin", "kwire.cli.verb_command", "kwire.cli.verb_run"):
        import_module(module)
    for name in command_names():
        import_module(f"kwire.cli.commands.{name}")
    gc.freeze()  # a collection in a fork would copy the memory of all modules
    arguments = _serve(socket.socket(fileno=int(sys.argv[1])))
    if arguments is not None:
        from kwire.cli import main as command

        sys.argv[:] = [str(ROOT / "python" / "kwire" / "__main__.py"), *arguments]
        command()


if __name__ == "__main__":
    main()
